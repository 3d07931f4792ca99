"""A source of images that fails while a run goes on: nothing of what was learnt until then is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vase.training.callbacks import Run
from vase.training.lock import LostDirectory


class BrokenStream(OSError):
    """The next batch could not be read: a camera, a disk or a connection failed."""


@contextmanager
def save_on_exception(run: Run) -> Iterator[None]:
    """Save a run if the block, between two steps, raises: it then resumes with the batch that could not be drawn.

    Several workers must save together, which one that fails cannot arrange: theirs resumes from its last checkpoint.
    """
    try:
        yield
    except Exception as error:
        remedy = _save(run)
        if isinstance(error, OSError):
            reason = error.strerror or str(error) or type(error).__name__
            raise BrokenStream(f"the next batch could not be read ({reason}). {remedy}") from error
        error.add_note(remedy)
        raise


def _save(run: Run) -> str:
    """Save a run if this worker can; returns what became of it, and how to go on."""
    saved = False
    if run.distributed.size == 1:
        try:
            run.save()
            saved = True
        except LostDirectory as lost:
            return str(lost)
        except OSError:
            pass
    where = f"{'saved at' if saved else 'stopped after'} step {run.step:,} of {run.total:,}"
    return f"The run is {where}; resume with: vase train --resume --out {run.directory.path}"
