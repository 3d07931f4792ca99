"""How many frames it takes to report a change."""

from __future__ import annotations

from vase.config import EnvironmentConfig
from vase.method.shift_detector import verdict_batches

_SIZES = (32, 16, 8, 4, 2)


def frames_of_a_verdict(config: EnvironmentConfig, batch_size: int) -> int:
    """Frames that must look unfamiliar before a change is reported.

    >>> frames_of_a_verdict(EnvironmentConfig(), 64), frames_of_a_verdict(EnvironmentConfig(patience=3), 16)
    (256, 48)
    """
    return batch_size * verdict_batches(config, batch_size)


def too_few_frames(config: EnvironmentConfig, batch_size: int, frames: int) -> str | None:
    """Why no change could be reported in so few frames, and the remedy; None if one could.

    Only whole batches count: a smaller one at the end needs more of them for a verdict.

    >>> too_few_frames(EnvironmentConfig(), 64, 576).partition(": ")[0]
    '576 frames in batches of 64 are too few to report any change'
    """
    untested, verdict = config.burn_in, verdict_batches(config, batch_size)
    if not 0 < frames < batch_size * (untested + verdict):
        return None

    def suits(size: int) -> bool:  # a change half-way would be found
        return 2 * size * max(untested, verdict_batches(config, size)) <= frames

    smaller = next((size for size in _SIZES if size < batch_size and suits(size)), None)
    remedy = "Use more frames" if smaller is None else f"Use smaller batches: batch size {smaller}"
    return (
        f"{frames:,} frames in batches of {batch_size} are too few to report any change: the first {untested} batches "
        f"of a scene are not tested, and a verdict takes {verdict} more. {remedy}."
    )
