"""`vase bench`: how fast the learner is on this machine, as ratios of things that are timed by turns in one process."""
