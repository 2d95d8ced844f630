"""Figures of runs: segments over time, panels over time, delays, recordings."""
