"""Small images as text that a page can hold."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from vase.images import as_bytes


def data_uri(image: np.ndarray) -> str:
    """An image (C, H, W), uint8 or in [0, 1], grey or colour, as a PNG in a data: address."""
    pixels = as_bytes(image)
    array = pixels[0] if len(pixels) == 1 else np.moveaxis(pixels[:3], 0, -1)
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(array)).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
