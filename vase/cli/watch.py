"""Watch a folder, a video, a camera or a pipe: learn from its frames, and tell when the world changes."""

from __future__ import annotations

import argparse
import shlex
from collections import deque
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from vase.cli.options import add_settings, add_shared, assignments
from vase.cli.parsing import whole_number
from vase.extras import install_command

EXAMPLE = "vase watch street.mp4 --out runs/street --on-switch 'notify-send VASE'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vase watch`."""
    parser.add_argument(
        "source",
        nargs="?",
        metavar="SOURCE",
        help="a folder that fills up, a video file, a camera (0, /dev/video0 or an address such as rtsp://...), or - "
        "for PNG, JPEG or raw frames on standard input",
    )
    parser.add_argument("--out", metavar="DIR", help="directory of the watch (default: watches/SOURCE)")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="resume the watch in --out, exactly where it was saved; name --on-switch and --webhook again",
    )
    _add_learner(parser)
    _add_frames(parser)
    parser.add_argument(
        "--on-switch",
        metavar="COMMAND",
        help="run this at every switch, without a shell: the Change record is JSON on its standard input, key facts "
        "are in VASE_ENVIRONMENT, VASE_PREVIOUS, VASE_IS_NEW, VASE_SENTENCE, VASE_SNAPSHOT, ...",
    )
    parser.add_argument("--webhook", metavar="URL", help="post the Change record as JSON to this address")
    parser.add_argument(
        "--page", action="store_true", help="serve the live timeline to your browser, on this machine only"
    )
    parser.add_argument(
        "--port", type=whole_number, default=0, metavar="N", help="port of --page (default: a free one)"
    )
    parser.add_argument("--json", action="store_true", help="write rows to standard output instead of the timeline")
    parser.add_argument(
        "--checkpoint-every", type=whole_number, metavar="N", help="batches between two checkpoints (default: 100)"
    )
    add_settings(parser, "device", "threads")
    add_shared(parser, "--quiet")


def _add_learner(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--learner",
        metavar="NAME",
        help="vase, monitor (the shift detector without networks, which is faster), or module:Class (default: vase)",
    )
    parser.add_argument(
        "--model", metavar="DIR", help="start from a saved learner, of a run, a watch or a folder, instead of a new one"
    )
    parser.add_argument(
        "--frozen",
        action="store_const",
        const=True,
        help="learn nothing, only tell where frames come from; needs --model",
    )
    parser.add_argument("--size", type=whole_number, metavar="N", help="side of the learner's images (default: 32)")
    parser.add_argument("--grey", action="store_const", const=1, dest="channels", help="make frames grey")
    add_settings(parser, "preset", "overrides", "seed")


def _add_frames(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch-size", type=whole_number, metavar="N", help="frames per batch (default: 64)")
    parser.add_argument("--every", type=whole_number, metavar="N", help="use every n-th frame (default: 1)")
    parser.add_argument(
        "--framing",
        choices=("letterbox", "crop"),
        help="frames of another aspect ratio get black bars, or lose their edges (default: letterbox)",
    )
    parser.add_argument(
        "--raw", metavar="WxH", help="frames on standard input are raw: 3 bytes per pixel, or 1 with WxHx1"
    )
    parser.add_argument(
        "--idle",
        type=float,
        metavar="SECONDS",
        help="end when no new picture has come into the folder for so long; 0 takes what is there (default: wait)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Watch until the source ends or Ctrl-C."""
    from vase.training.process import interruptible
    from vase.watching.directory import WatchDirectory
    from vase.watching.hooks import Hook, command, webhook
    from vase.watching.session import watch
    from vase.watching.shortage import frames_of_a_verdict
    from vase.watching.terminal import terminal

    if arguments.source is None and not arguments.resume:
        raise ValueError("no SOURCE: name a folder, a video file, a camera, or - for frames on standard input.")
    out = Path(arguments.out) if arguments.out else _default_directory(arguments.source)
    shown = terminal(json_lines=arguments.json, quiet=arguments.quiet)
    observers = [shown]
    if arguments.on_switch:
        observers.append(Hook("the command of --on-switch", command(arguments.on_switch), shown.on_note))
    if arguments.webhook:
        observers.append(Hook("the webhook", webhook(arguments.webhook), shown.on_note))
    if arguments.page:
        observers.append(_live_page(out, arguments.port, shown.on_note))
    with interruptible() as stop:
        steps = watch(
            arguments.source, out=out, resume=arguments.resume, observers=observers, stop=stop, **_given(arguments)
        )
        last = next(iter(deque(steps, 1)), None)
    end = "stopped" if stop.is_set() else "the source has ended"
    broken = f" ({last.broken:,} of them broken)" if last and last.broken else ""
    count = f"{last.frames:,} frames{broken} in {last.step:,} batch{'es' * (last.step != 1)}" if last else "nothing new"
    if last and last.held:
        directory = WatchDirectory(out)
        verdict = frames_of_a_verdict(directory.config().environments, directory.settings().batch_size)
        count += (
            f"; the last ones looked unfamiliar, but were too few for a verdict, which takes {verdict:,} frames, or N "
            "batches in a watch started with --set environments.patience=N"
        )
    shown.on_note(f"{end}: {count}. Watch: {out}. Resume with: {_resume_command(arguments, out)}")


def _resume_command(arguments: argparse.Namespace, out: Path) -> str:
    """The command that resumes the watch, hooks included; a webhook's address may hold a secret and is not printed."""
    words = ["vase", "watch", "--resume", "--out", str(out)]
    if arguments.on_switch:
        words += ["--on-switch", arguments.on_switch]
    return shlex.join(words) + (" --webhook URL" if arguments.webhook else "")


def _live_page(out: Path, port: int, note: Callable[[str], None]) -> Any:
    try:
        from vase.watching.live_page import LivePage
    except ModuleNotFoundError as error:
        remedy = install_command("explorer")
        raise ModuleNotFoundError(f"--page needs {error.name}, which is not installed: {remedy}.") from None
    return LivePage(out, port, note)


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command line gives."""
    from vase.watching.settings import WatchSettings

    names = {field.name for field in fields(WatchSettings)} - {"source"}
    given = {name: value for name, value in vars(arguments).items() if name in names and value is not None}
    return given | ({"overrides": assignments(given["overrides"])} if "overrides" in given else {})


def _default_directory(source: str | None) -> Path:
    """watches/ and the name of the source, safe as the name of a folder."""
    if source is None:
        raise ValueError("--resume: name the directory of the watch with --out.")
    name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in Path(source).name).strip(".-")
    return Path("watches") / (name[:80] or "stdin")
