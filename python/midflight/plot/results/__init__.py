"""Figures of sweeps and other tables: quartiles, comparisons, distributions, heat maps."""
