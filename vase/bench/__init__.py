"""`vase bench`: how fast the learner is, as ratios of things that are timed by turns in one process."""

from vase.bench.command import PARTS, arguments, main

__all__ = ["PARTS", "arguments", "main"]
