"""Sharing a learner: saved for others with a model card, loaded by name, from a folder or from the Hugging Face Hub."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from vase import checkpoint
from vase.checkpoint import MANIFEST, State
from vase.extras import require
from vase.files import write_bytes, write_json
from vase.learners.card import model_card
from vase.learners.composition import RECENT, Composition
from vase.method.visit_sample import VisitSample
from vase.nn.likelihood import Images
from vase.spelling import did_you_mean

SHIPPED = Path(__file__).parents[1] / "shipped"
"""Models that come with the package, a folder each."""
CARD, CONFIG = "README.md", "config.json"
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
"""The form of a name on the Hub."""


class Shareable(Composition):
    """A composition that can be shared."""

    def save_pretrained(self, folder: str | Path, *, card: str | None = None) -> Path:
        """Save the learner for others, with a model card (README.md); returns the folder.

        Unlike `save`, this leaves out the optimiser and all images and codes that the learner holds on to, so that
        others can ask it and go on learning, but not continue exactly. `card` is the text of a card of your own.
        """
        folder = Path(folder)
        state = shareable_state(self.state_dict())
        if self.workers_.is_main_process:
            checkpoint.write(folder, checkpoint.LEARNER, {"learner": state})
            write_json(folder / CONFIG, self.config_.to_dict())
            text = model_card(self, folder.resolve().name) if card is None else card
            write_bytes(folder / CARD, text.encode())
        self.workers_.barrier()
        return folder

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        *,
        device: str = "auto",
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        force_download: bool = False,
        local_files_only: bool = False,
        **custom: Any,
    ) -> Self:
        """The learner of a folder, of a model that comes with the package, or of the Hugging Face Hub ("USER/NAME").

        `revision`, `token`, `cache_dir`, `force_download` and `local_files_only` are those of huggingface_hub; `custom`
        parts are those of `load`.
        """
        options = {"revision": revision, "token": token, "cache_dir": cache_dir}
        folder = find_pretrained(name, **options, force_download=force_download, local_files_only=local_files_only)
        return cls.load(folder, device, **custom)

    def push_to_hub(self, repo_id: str, *, card: str | None = None, **options: Any) -> str:
        """Upload what `save_pretrained` writes to the Hugging Face Hub; returns the address of the commit.

        `options` are those of `huggingface_hub.ModelHubMixin.push_to_hub`: private, token, branch, commit_message, ...
        """
        text = model_card(self, repo_id) if card is None else card
        with tempfile.TemporaryDirectory() as folder:
            return push_folder(self.save_pretrained(Path(folder) / "model", card=text), repo_id, **options)

    def last_images(self) -> Images:
        """The last images of the current environment; dreams of it, if none came since `from_pretrained`."""
        if self.recent_:
            return torch.cat([self.workers_.gather(part) for part in self.recent_])
        generator = torch.Generator().manual_seed(self.steps_)
        noise = torch.randn(RECENT * self.config_.batch_size, self.n_latents, generator=generator)
        return self._mean(noise.to(self.device_), self.memory_.current)


def shareable_state(state: Mapping[str, Any]) -> State:
    """A `state_dict` without the optimiser, the averaged weights, and images or codes that the learner holds on to.

    The codes are posterior means of single images: the decoder would show them.
    """
    rotator = {name: value[:0] if isinstance(value, Tensor) else value for name, value in state["rotator"].items()}
    empty = {"optimiser": {}, "ema": None, "recent": {}, "visit": VisitSample().state_dict()}
    return {**state, **empty, "detector": {**state["detector"], "held": {}}, "rotator": rotator}


def shipped_models() -> tuple[str, ...]:
    """Names of the models that come with the package."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob(f"*/{MANIFEST}")))


def find_pretrained(name: str | Path, **options: Any) -> Path:
    """The folder of a model: a folder itself, one that comes with the package, or one downloaded from the Hub."""
    if Path(name).is_dir():
        return Path(name)
    shipped = shipped_models()
    if str(name) in shipped:
        return SHIPPED / str(name)
    if _REPOSITORY.fullmatch(str(name)) and isinstance(name, str):
        return _hub().HubFolder.from_pretrained(name, **options).folder
    raise FileNotFoundError(
        f"no folder and no shipped model is named {str(name)!r}{did_you_mean(str(name), shipped)} "
        f"Shipped: {', '.join(shipped) or 'none'}; models on the Hugging Face Hub are named USER/NAME."
    )


def push_folder(folder: Path, repo_id: str, **options: Any) -> str:
    """Upload a folder that `save_pretrained` wrote to the Hugging Face Hub; returns the address of the commit."""
    return str(_hub().HubFolder(folder).push_to_hub(repo_id, **options))


def _hub() -> Any:
    """The module that needs huggingface_hub."""
    return require("vase.learners.hub", "hub")
