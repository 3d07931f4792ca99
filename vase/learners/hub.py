"""Shared learners on the Hugging Face Hub. Needs the extra `hub`; imported by `vase.learners.sharing` on first use."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Self

from huggingface_hub import ModelHubMixin, snapshot_download

from vase.extras import DISTRIBUTION

FILES = ["*.json", "*.safetensors", "*.md"]
"""What is downloaded."""


class HubFolder(ModelHubMixin, library_name=DISTRIBUTION, license="apache-2.0"):
    """A folder that `save_pretrained` of a learner wrote, on its way to the Hub or from it.

    `from_pretrained` downloads one, `push_to_hub` uploads it with its card and figures.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _save_pretrained(self, save_directory: Path) -> None:
        shutil.copytree(self.folder, save_directory, dirs_exist_ok=True)

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **options: Any) -> Self:
        return cls(Path(snapshot_download(model_id, allow_patterns=FILES, **options)))
