"""Worlds in colour, which the paper has only in 3D."""
