"""Imagination (Figure 4C)."""
