"""What happened in a run, in three sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vase.worlds.spec import title

NAMED = 3
"""Worlds that the first sentence names; the heading names them all."""
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def three_sentences(found: Mapping[str, Any], batch_size: int) -> list[str]:
    """What the learner saw, what it noticed, and what it kept; from a summary. The last one may have nothing to say."""
    return [text for text in (_seen(found, batch_size), _noticed(found), _kept(found)) if text]


def _seen(found: Mapping[str, Any], batch_size: int) -> str:
    worlds = [title(world) for world in found["stream"]]
    so_far = "" if found["complete"] else " so far"
    shown = f"{count(found['steps'], 'batch')} of {batch_size} images{so_far}"
    if len(worlds) == 1:
        return f"The learner saw {shown} of one world, {worlds[0]}."
    came = f": {', then '.join(worlds)}" if len(worlds) <= NAMED else f" of {count(len(set(worlds)), 'world')} in turn"
    return f"The learner saw {shown}{came}, and was never told when the world changed."


def _noticed(found: Mapping[str, Any]) -> str:
    if not found["environments"]:
        return "It does not infer environments."
    delays, alarms, missed = found["delays"], found["false_alarms"], len(found["missed"])
    known = f"knows {count(found['environments'], 'environment')} now"
    raised = f"raised {count(alarms, 'false alarm')}"
    if not delays and not missed:
        return f"It {raised}, and {known}."
    true = len(delays) + missed
    if not delays:
        return f"It missed {_all_of(true)}, {raised}, and {known}."
    noticed = f"{len(delays)} of {count(true, 'change')}" if missed else _all_of(true)
    return f"It noticed {noticed}, {_after(delays)}, {raised}, and {known}."


def _all_of(changes: int) -> str:
    return {1: "the change", 2: "both changes"}.get(changes, f"all {count(changes, 'change')}")


def _after(delays: Sequence[int]) -> str:
    low, high = min(delays), max(delays)
    return f"{count(low, 'batch')} later" if low == high else f"{low} to {count(high, 'batch')} later"


def _kept(found: Mapping[str, Any]) -> str:
    """Latents in use, and what the codes have lost of earlier worlds."""
    parts = []
    if found["latents"]:
        used = len({n for one in found["environment_latents"] for n in one["used"]})
        shared = "all" if len(found["shared"]) == used > 1 else len(found["shared"]) or "none"
        parts.append(f"It uses {used} of its {found['latents']} latents, {shared} of them in several environments")
    change = found["frozen"]["identity"]["mean"]["change"]
    if change is not None:
        than = f"{abs(100 * change):.1f} points {'worse' if change < 0 else 'better'} than when they were learnt"
        parts.append(f"the classes of earlier worlds can be read from its codes {than}")
    text = ", and ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def count(number: int, what: str) -> str:
    """A number with its noun, small numbers as words."""
    word = _SMALL[number] if number < len(_SMALL) else f"{number:,}"
    return f"{word} {what}" if number == 1 else f"{word} {what}{'es' if what.endswith('ch') else 's'}"
