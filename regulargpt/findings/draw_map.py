"""What lies on points in a plane: outlines with their letters, and arrows from one heap of points to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from regulargpt import plots
from regulargpt.findings.finding import Dots, Outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

Places = npt.NDArray[np.floating]

LETTERS, ARROW_LETTERS = 9.0, 8.0
"""Sizes in points."""
BESIDE = 9.0
"""Points (1/72 inch) from the edge of an outline to its letters, away from the middle of the map."""
TINT = 0.8
"""The share of white in the colour within an outline."""
BEND = 0.18
"""How far an arrow swerves, as a share of its length: two that go there and back lie beside each other."""
MOST_NAMED = 100
"""More outlines than this have no letters: they would hide the map."""
ROUNDS = 1000
"""So often letters that touch are pushed apart."""


def draw_map(drawn: Figure, axes: Axes, panel: Dots, colour: Mapping[int, str]) -> None:
    """Outlines, arrows and letters. Letters are moved until no two touch; an arrow's that finds no room is left out."""
    middle = np.mean([np.mean(outline.corners, 0) for outline in panel.outlines], 0) if panel.outlines else np.zeros(2)
    letters: list[Annotation] = []
    for outline in panel.outlines:
        draw_region(axes, outline, colour.get(outline.colour, plots.GREY))
        if len(panel.outlines) <= MOST_NAMED:
            at, away = outermost(np.array(outline.corners), middle)
            letters.append(written(axes, at, outline.name, LETTERS, tuple(away * BESIDE), beside_of(away), bold=True))
    for arrow in panel.arrows:
        letters.append(draw_arrow(axes, np.array(arrow.start), np.array(arrow.end), arrow.name))
    if letters:
        axes.margins(0.15)  # room for the letters of the outermost clusters
        drawn.draw_without_rendering()  # places are known once the layout is
        touch = push_apart(letters, np.array(axes.get_window_extent().extents), drawn.dpi)
        for n in range(len(letters) - 1, len(letters) - len(panel.arrows) - 1, -1):  # of the arrows, the last first
            if touch[n].any():
                letters[n].set_visible(False)
                touch[n] = touch[:, n] = False


def outermost(
    corners: npt.NDArray[np.floating], middle: npt.NDArray[np.floating]
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]:
    """The corner that lies farthest away from the middle of the map, and the direction to there, of length 1."""
    away = toward(corners.mean(0) - middle)
    return corners[((corners - middle) @ away).argmax()], away


def beside_of(away: npt.NDArray[np.floating]) -> tuple[str, str]:
    """Which part of letters stands nearest to a place from which they lie in this direction, so that they hide nothing.

    >>> beside_of(np.array([1.0, 0.1])), beside_of(np.array([-0.7, -0.7])), beside_of(np.array([0.0, 1.0]))
    (('left', 'center'), ('right', 'top'), ('center', 'bottom'))
    """
    across, up = (0 if abs(share) < np.sin(np.pi / 8) else int(np.sign(share)) for share in away)
    return ("right", "center", "left")[1 + across], ("top", "center", "bottom")[1 + up]


def toward(way: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """The direction of a way, upwards where it has no length."""
    length = np.linalg.norm(way)
    return way / length if length > 1e-9 else np.array([0.0, 1.0])


def draw_region(axes: Axes, outline: Outline, colour: str) -> None:
    """The region in a pale colour; one that is not sure has a broken line."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Polygon

    pale = tuple(1 - (1 - TINT) * (1 - share) for share in to_rgb(colour))
    line = "-" if outline.is_sure else "--"
    axes.add_patch(Polygon(outline.corners, facecolor=pale, edgecolor=colour, linestyle=line, zorder=0.5))


def draw_arrow(axes: Axes, start: npt.NDArray[np.floating], end: npt.NDArray[np.floating], name: str) -> Annotation:
    """A bent arrow, with its letters beside its middle."""
    look = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={BEND}", "color": plots.GREY, "lw": 0.9}
    bent = axes.annotate("", tuple(end), tuple(start), arrowprops={**look, "shrinkA": 11, "shrinkB": 11}, zorder=3)
    bent.set_in_layout(False)
    across = np.array([end[1] - start[1], start[0] - end[0]])  # to the right of the way, where the arrow swerves to
    return written(axes, (start + end) / 2 + across * BEND / 2, name, ARROW_LETTERS)


def written(
    axes: Axes,
    at: npt.NDArray[np.floating],
    text: str,
    size: float,
    beside: Sequence[float] = (0.0, 0.0),
    sides: tuple[str, str] = ("center", "center"),
    bold: bool = False,
) -> Annotation:
    """Letters on a white ground, so many points beside a place; `sides` is which part of them stands there."""
    ground = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    look = {"fontsize": size, "weight": "bold" if bold else "normal", "zorder": 5}
    look |= dict(zip(("ha", "va"), sides, strict=True))
    where = {"xytext": beside, "textcoords": "offset points"}
    letters = axes.annotate(text, tuple(at), bbox=ground, parse_math=False, annotation_clip=False, **where, **look)
    letters.set_in_layout(False)  # they stay within the axes, and move after the layout is found
    return letters


def push_apart(letters: Sequence[Annotation], frame: Places, dpi: float) -> npt.NDArray[np.bool_]:
    """Move letters until their boxes do not touch; the pairs (n, n) that still do, where there is no room.

    Of two that touch, each goes half of the way, the shorter way. They stay in the frame (4,), left, bottom, right, top
    in dots: outside are the numbers of the axes.
    """
    boxes = np.array([of.get_window_extent().padded(1.5).extents for of in letters])  # (n, 4): left, bottom, right, top
    moved, touch = np.zeros((len(letters), 2)), np.ones((len(letters), len(letters)), bool)
    for _ in range(ROUNDS):
        low, high = boxes[:, :2] + moved, boxes[:, 2:] + moved  # (n, 2) each
        shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)  # (n, n, 2)
        touch = (shared > 0).all(-1) & ~np.eye(len(boxes), dtype=bool)
        back = np.maximum(frame[:2] - low, 0) + np.minimum(frame[2:] - high, 0)  # (n, 2)
        if not (touch.any() or back.any()):
            break
        apart = (low[:, None] + high[:, None] - low - high) / 2  # (n, n, 2)
        # Of two in one place, the later label goes to the right or up.
        number = np.arange(len(boxes))
        apart = np.where(np.abs(apart) < 1e-6, np.sign(number[:, None] - number)[..., None], apart)
        shorter = np.arange(2) == shared.argmin(-1)[..., None]  # (n, n, 2)
        moved += (np.sign(apart) * shared * (touch[..., None] & shorter)).sum(1) / 2 + back
    for of, shift in zip(letters, moved * 72 / dpi, strict=True):
        of.xyann = tuple(np.array(of.xyann) + shift)
    return touch
