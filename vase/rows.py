"""The rows of a run: one JSON object per line of rows.jsonl, one TypedDict per kind."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Row = dict[str, Any]
"""Any of the rows below, as it is written to and read from a file."""


class Place(TypedDict):
    """Where in the stream a row was written."""

    step: int
    stage: int
    world: str


class KnownEnvironment(TypedDict):
    """What the learner knows of one environment."""

    index: int
    age: int
    loss: float | None
    mask: list[bool]
    used: list[bool]


class AxisLatent(TypedDict):
    """The latent that is most correlated with one coordinate of the object's position."""

    latent: int
    correlation: float


class PositionLatents(TypedDict):
    """The position latents, as measured on held-out images of a world that moves."""

    world: str
    x: AxisLatent
    y: AxisLatent


class StepRow(Place):
    """Every `rows_every` steps: the losses and the latents of one batch."""

    kind: Literal["step"]
    environment: int
    held: bool
    loss: float | None
    reconstruction: float | None
    deviance: float | None
    kl: float | None
    capacity: float | None
    dream_encoder: float | None
    dream_decoder: float | None
    classifier: float | None
    atypicality: list[float | None]
    mask: list[bool]


SwitchRow = TypedDict(
    "SwitchRow",
    {
        "kind": Literal["switch"],
        "step": int,
        "stage": int,
        "world": str,
        "from": int | None,
        "environment": int,
        "is_new": bool,
        "true_step": int | None,
        "delay": int | None,
        "false_alarm": bool,
        "reasons": list[str],
    },
)
"""A switch that the learner announced, compared with the truth. The first environment has `from` None."""


class ProbeRow(TypedDict):
    """The score of one probe: accuracy of "identity", mse and pixels of "position"."""

    kind: Literal["probe"]
    step: int
    world: str
    probe: Literal["identity", "position"]
    mode: Literal["online", "periodic"]
    accuracy: NotRequired[float]
    mse: NotRequired[float]
    pixels: NotRequired[float]


class ImaginationRow(Place):
    """Scores on a world that was not met yet, and the distance from z* before and after acting."""

    kind: Literal["imagination"]
    unmet: NotRequired[str]
    mode: NotRequired[str]
    accuracy: NotRequired[float]
    ceiling: NotRequired[float]
    latents: NotRequired[list[int]]
    before: NotRequired[list[float]]
    after: NotRequired[list[float]]


class StageRow(Place):
    """The state of the learner at the end of a stage. A learner without environments has only the place of the row."""

    kind: Literal["stage"]
    environment: NotRequired[int]
    mask: NotRequired[list[bool]]
    used: NotRequired[list[bool]]
    environments: list[KnownEnvironment]
    held: int
    dropped: int
    position: NotRequired[PositionLatents]


class MeasuresRow(Place):
    """Disentanglement, reconstruction and dreams of one world at the end of a stage."""

    kind: Literal["measures"]
    environment: int | None
    candidate: NotRequired[int]
    information: dict[str, list[float]]
    mig: float | None
    sap: float | None
    dci: dict[str, float] | None
    factor_vae: float | None
    reconstruction: NotRequired[float]
    samples: NotRequired[float]
    samples_floor: NotRequired[float]


class EndRow(TypedDict):
    """The state of the learner at the end of the run."""

    kind: Literal["end"]
    step: int
    environments: list[KnownEnvironment]
    held: int
    dropped: int
    position: NotRequired[PositionLatents]
