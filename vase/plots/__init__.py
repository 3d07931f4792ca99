"""Figures of a run, from its saved rows and its learner. Each function returns a matplotlib figure."""
