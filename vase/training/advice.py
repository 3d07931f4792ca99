"""What to do when a run ends with an error: messages that are true when they are said, and can be followed."""

from __future__ import annotations

import errno

from vase.training.directory import RunDirectory
from vase.training.lock import LostDirectory
from vase.training.plan import Plan


def explain_disk_error(error: OSError, directory: RunDirectory) -> OSError:
    """An OSError of writing, with its cause, what is still there, and how to resume."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    what = "the disk is full" if full else (error.strerror or str(error))
    return OSError(
        f"{directory.path} cannot be written: {what}. {_last_checkpoint(directory)}; "
        f"{'free some space' if full else 'repair this'} and resume with: vase train --resume --out {directory.path}"
    )


def _last_checkpoint(directory: RunDirectory) -> str:
    """What is left of the run, after looking."""
    damaged: list[str] = []
    try:
        step = directory.load(report=damaged.append)["run"]["step"]
    except (OSError, ValueError) as error:
        return f"No checkpoint can be read ({error})"
    return f"The last checkpoint, of step {step:,}, is intact"


def explain_divergence(error: FloatingPointError, directory: RunDirectory, plan: Plan) -> FloatingPointError:
    """A FloatingPointError of a learner, with a command that continues from before it, at half the learning rate."""
    try:
        directory.require_own()
    except LostDirectory as lost:
        return FloatingPointError(f"{error} {lost}")
    steps = directory.checkpoints.steps()
    if not steps:
        return error
    rate = plan.config.learning_rate / 2
    return FloatingPointError(
        f"{error} Checkpoints of steps {', '.join(map(str, steps))} are kept; continue as a new run from one of them, "
        f"e.g. with: vase train --resume --out {directory.path} --from {steps[-1]} --set learning_rate={rate:g}"
    )
