"""The model card of a learner, as Markdown: how to use it, what it knows, and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vase.extras import DISTRIBUTION
from vase.learners.protocol import count_environments
from vase.learners.representation import Representation

_HEAD = f"""---
library_name: {DISTRIBUTION}
license: apache-2.0
pipeline_tag: image-feature-extraction
tags:
- continual-learning
- disentanglement
- drift-detection
- variational-autoencoder
---
"""
_ABOUT = (
    "A learner of the kind that Achille et al., *Life-Long Disentangled Representation Learning with Cross-Domain "
    "Latent Homologies* (NeurIPS 2018), describe: one disentangled representation of a stream of images whose "
    "distribution shifts without notice."
)


def model_card(learner: Representation, name: str, sections: Mapping[str, str] | None = None) -> str:
    """The card; `sections`, heading → Markdown, stand between what the learner knows and its limits."""
    parts = {
        "Use": _use(learner, name),
        "What it knows": _known(learner),
        **(sections or {}),
        "Limits": _limits(learner),
    }
    body = "\n\n".join(f"## {heading}\n\n{text}" for heading, text in parts.items())
    return f"{_HEAD}\n# {name}\n\n{_ABOUT}\n\n{body}\n"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\\|y |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _use(learner: Representation, name: str) -> str:
    channels, height, width = learner.config_.image_shape
    kind = {1: "grey", 3: "colour"}.get(channels, f"{channels}-channel")
    return f"""```python
from vase import VASE

model = VASE.from_pretrained("{name}")  # the name of a shipped model, a folder, or USER/NAME on the Hub
z = model.encode(images)  # {kind} images of {height}×{width}; z.mean, z.std, z.active, z.environment
model.dream(8, environment=0)
model.partial_fit(images)  # goes on learning, with a fresh optimiser
```"""


def _known(learner: Representation) -> str:
    views, known = learner.environments, count_environments(learner)
    used = {int(n) for view in views for n in view.used.nonzero()[0]}
    sentence = (
        f"{known} environment{'s' * (known != 1)} after {learner.steps:,} batches; "
        f"{len(used)} of {learner.n_latents} latents in use."
    )
    rows = [
        (
            str(view.index) if view.duplicate_of is None else f"{view.index} (retired: it was {view.duplicate_of})",
            f"{view.age:,}",
            f"{view.loss:.1f}",
            ", ".join(map(str, view.used.nonzero()[0])) or "none",
        )
        for view in views
    ]
    return f"{sentence}\n\n{markdown_table(('environment', 'batches learnt', 'loss', 'latents used'), rows)}"


def _limits(learner: Representation) -> str:
    channels, height, width = learner.config_.image_shape
    return "\n".join(
        (
            f"- It takes images of {channels}×{height}×{width} only, and knows nothing but the environments above.",
            "- Codes and dreams show what it was trained on; nothing was done against bias in those images.",
            "- It holds no training images. Weights can still give away what single images look like.",
            "- The optimiser is not part of it: further learning starts with fresh moments.",
            "- A change is noticed if it moves the average of what the shift tests look at; some changes do not.",
        )
    )
