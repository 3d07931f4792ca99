"""How fast the learner is, as ratios of things that are timed by turns in one process."""
