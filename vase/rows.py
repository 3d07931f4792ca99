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
    duplicate_of: NotRequired[int]


class AxisLatent(TypedDict):
    """The latent that is most correlated with one coordinate of the object's position."""

    latent: int
    correlation: float
    second: NotRequired[float]
    """|r| of the next best latent; runs of earlier versions lack it."""


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
    p_value: float | None
    effect: float | None


class PackedImages(TypedDict):
    """Images of uint8: their shape, and their values in C order as base64 of zlib."""

    shape: list[int]
    zlib: str


class LatentChangeRow(TypedDict):
    """Atypicality of one latent before and after; None is infinite."""

    latent: int
    before: float | None
    after: float | None


class NearestRow(TypedDict):
    """The nearest other known environment."""

    environment: int
    distance: float


class ChangeRow(TypedDict):
    """What changed at a switch, as `Change.to_row` writes it and `Change.from_row` reads it."""

    step: int
    previous: int
    environment: int
    is_new: bool
    brightness: float | None
    contrast: float | None
    saturation: float | None
    sharpness: float | None
    noise: float | None
    p_value: float | None
    colour: list[float] | None
    place: str | None
    latents: list[LatentChangeRow]
    nearest: NearestRow | None
    image_counts: list[int]
    sentence: str
    findings: list[str]
    before: PackedImages
    after: PackedImages


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
        "p_value": float | None,
        "effect": float | None,
        "posterior": list[float | None],
        "change": ChangeRow | None,
        "retired": NotRequired[int],
    },
)
"""A switch that the learner announced, compared with the truth, and what changed with it.

The first environment has `from` and `change` None. Runs of earlier versions lack the keys from `p_value` to `change`.
`retired`: the environment that is left, if it came into the one entered before it had settled.
"""


class ProbeRow(TypedDict):
    """The score of one probe: accuracy of "identity", mse and pixels of "position".

    `mode` says which probe: the appendix's, trained beside the learner ("online" or "periodic"), a fresh one on the
    frozen encoder ("frozen"), or one that was trained at the end of the last visit ("kept") or some batches later
    ("settled") and reads the codes of today. All but the first also have the number of test images and the standard
    error of the score.
    """

    kind: Literal["probe"]
    step: int
    world: str
    probe: Literal["identity", "position"]
    mode: Literal["online", "periodic", "frozen", "kept", "settled"]
    accuracy: NotRequired[float]
    mse: NotRequired[float]
    pixels: NotRequired[float]
    error: NotRequired[float]
    images: NotRequired[int]


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


class AdjustedMeasures(TypedDict):
    """Disentanglement, adjusted for what an unrelated latent scores; `axes` only for worlds that move."""

    information: dict[str, list[float]]
    mig: float | None
    mig_error: float | None
    mig_per_factor: dict[str, float]
    sap: float | None
    sap_per_factor: dict[str, float]
    dci: dict[str, Any]
    axes: NotRequired[dict[str, AxisLatent]]


class SeenMeasures(TypedDict):
    """Disentanglement of the latents that the environment sees, for posterior means and for samples."""

    latents: list[bool]
    means: AdjustedMeasures
    samples: AdjustedMeasures


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
    seen: NotRequired[SeenMeasures]
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


_PLACE = ("step", "stage", "world")
KEYS: dict[str, tuple[str, ...]] = {
    "step": (*_PLACE, "environment", "held", "loss", "capacity", "atypicality", "mask"),
    "switch": (*_PLACE, "from", "environment", "is_new", "true_step", "delay", "false_alarm"),
    "probe": ("step", "world", "probe", "mode"),
    **dict.fromkeys(("imagination", "stage", "measures"), _PLACE),
    "end": ("step",),
}
"""Kind of row -> what every row of that kind has, whichever version and learner wrote it."""


def misfit(row: Any) -> str:
    """Why a JSON value is not a row; empty if it is one. A kind of one's own may have any keys.

    >>> misfit({"kind": "probe", "step": 3, "world": "mnist", "mode": "frozen"})
    "a row of kind 'probe' without 'probe'"
    """
    if not isinstance(row, dict) or not isinstance(kind := row.get("kind"), str):
        return "a line is no row: it must be an object with a kind"
    for key in KEYS.get(kind, ()):
        if key not in row:
            return f"a row of kind {kind!r} without {key!r}"
        if key in ("step", "stage") and type(row[key]) is not int:
            return f"a row of kind {kind!r} with {key} = {row[key]!r}, which must be a whole number"
    return ""
