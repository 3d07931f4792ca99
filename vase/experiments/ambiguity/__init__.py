"""Ambiguous images with context (Figure 4A)."""
