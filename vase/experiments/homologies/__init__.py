"""Cross-domain homologies (Figure 4B)."""
