"""A local page on the full model of a run: own pictures, mixtures, interpolations, comparisons, names of latents."""
