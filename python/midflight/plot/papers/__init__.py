"""Kinds of figures that the studies need to draw those of the papers."""
