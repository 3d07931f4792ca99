"""Worlds that come back."""
