"""One hyperparameter at a time."""
