"""Which environment uses which latent: the map of shared, own, masked and spare capacity."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from vase.metrics.latents import State, States, shared_latents
from vase.plots.style import EMPTY, GREY, INK, PALE, new_figure, styled, tint, world_colour


def latent_use(
    states: States, labels: Mapping[int, str], colours: Mapping[int, str] | None = None, moment: str = ""
) -> Figure:
    """Environment x latent: used, masked or unused, with counts; `moment` says when, for the title."""
    environments, latents = states.shape
    with styled():
        figure = new_figure(max(6.0, 2.6 + 0.31 * latents), 1.35 + 0.34 * max(1, environments))
        draw_latent_use(figure.subplots(), states, labels, colours, moment)
        figure.legend(handles=state_legend(), loc="outside lower center", ncols=3)
    return figure


def draw_latent_use(
    axis: Axes, states: States, labels: Mapping[int, str], colours: Mapping[int, str] | None = None, moment: str = ""
) -> None:
    """The map on given axes; colours as those of the environments elsewhere in a figure."""
    environments, latents = states.shape
    for s in range(environments):
        colour = tint((colours or {}).get(s, world_colour(s)), 0.85)
        for n in range(latents):
            axis.add_patch(state_box(State(states[s, n]), (n - 0.42, s - 0.40), 0.84, 0.80, colour))
        used, masked = (int((states[s] == state).sum()) for state in (State.USED, State.MASKED))
        axis.text(latents + 0.1, s, f"{used} used, {masked} masked", va="center", fontsize=8)
    axis.set_yticks(range(environments), [heading(s, labels) for s in range(environments)])
    stride = 1 if latents <= 32 else 1 + latents // 24
    axis.set_xticks(range(0, latents, stride), [str(n) for n in range(0, latents, stride)])
    axis.set_xlim(-0.6, latents + 0.1)
    axis.set_ylim(environments - 0.4, -0.6)
    axis.tick_params(length=0)
    axis.tick_params(axis="x", labelsize=8 if latents <= 16 else 6.5)
    axis.spines[:].set_visible(False)
    axis.set_xlabel("latent")
    used_flags = states == State.USED
    spare = int((~used_flags.any(axis=0)).sum())
    when = f" {moment}" if moment else ""
    axis.set_title(f"Latent use{when}: {len(shared_latents(used_flags))} shared, {spare} of {latents} spare")


def heading(environment: int, labels: Mapping[int, str] | None) -> str:
    """An environment by its number and, if there is one, its label."""
    name = (labels or {}).get(environment)
    return f"{environment}  {name}" if name else f"environment {environment}"


def state_box(
    state: State, corner: tuple[float, float], width: float, height: float, colour: str | tuple[float, float, float]
) -> Rectangle:
    """The mark of a state: filled when used, hatched when masked, pale otherwise."""
    if state is State.USED:
        return Rectangle(corner, width, height, facecolor=colour, edgecolor=colour, linewidth=0.8)
    if state is State.MASKED:
        return Rectangle(corner, width, height, facecolor="white", edgecolor=INK, linewidth=0.7, hatch="//////")
    return Rectangle(corner, width, height, facecolor=EMPTY, edgecolor=PALE, linewidth=0.6)


def state_legend() -> list[Patch]:
    """What the cells of the map mean."""
    return [
        Patch(facecolor=tint(GREY, 0.85), edgecolor=GREY, label="used"),
        Patch(facecolor="white", edgecolor=INK, hatch="//////", label="masked (used by another environment)"),
        Patch(facecolor=EMPTY, edgecolor=PALE, label="not used"),
    ]
