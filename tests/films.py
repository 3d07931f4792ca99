"""Frames, videos and folders of pictures that the tests make: noise under a light, which a monitor tells apart."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import av
import numpy as np
from PIL import Image

DAY, NIGHT = 1.0, 0.5


def noise(light: float, n: int, seed: int = 0, size: tuple[int, int] = (16, 16)) -> np.ndarray:
    """Colour frames (n, H, W, 3) of uint8, as bright as the light."""
    return np.random.default_rng(seed).integers(0, round(255 * light), (n, *size, 3), dtype=np.uint8)


def film(*lights: tuple[float, int]) -> np.ndarray:
    """Scenes one after the other, each with its light and its number of frames."""
    return np.concatenate([noise(light, n, seed) for seed, (light, n) in enumerate(lights)])


def write_video(path: Path, frames: Iterable[np.ndarray], codec: str = "ffv1") -> Path:
    """Encode frames; ffv1 loses nothing."""
    with av.open(str(path), "w") as container:
        stream = None
        for pixels in frames:
            if stream is None:
                stream = container.add_stream(codec, rate=25)
                stream.height, stream.width = pixels.shape[:2]
                stream.pix_fmt = {"ffv1": "bgr0", "mjpeg": "yuvj420p"}[codec]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def write_pictures(folder: Path, frames: Iterable[np.ndarray], start: int = 0) -> list[Path]:
    """One PNG per frame, named in order."""
    folder.mkdir(exist_ok=True)
    paths = []
    for i, pixels in enumerate(frames, start):
        paths.append(folder / f"{i:05d}.png")
        Image.fromarray(pixels).save(paths[-1])
    return paths
