"""Folds of views, pointers and strokes of the presenter."""

from lab.classroom.events import seen
from lab.classroom.folds.folding import Sections, folds
from lab.classroom.state import State, Stroke


@folds(seen.ViewChanged)
def _(state: State, event: seen.ViewChanged, at_us: int, who: str) -> Sections:
    state.view = event.view
    return ("view",)


@folds(seen.Pointed)
def _(state: State, event: seen.Pointed, at_us: int, who: str) -> Sections:
    return ()


@folds(seen.InkDrawn)
def _(state: State, event: seen.InkDrawn, at_us: int, who: str) -> Sections:
    state.ink[event.ink] = Stroke(event.anchor, event.points)
    state.last_ink = event.ink
    return (f"ink/{event.ink}",)


@folds(seen.InkCleared)
def _(state: State, event: seen.InkCleared, at_us: int, who: str) -> Sections:
    cleared = event.inks or tuple(state.ink)
    for ink in cleared:
        state.ink.pop(ink, None)
    return [f"ink/{ink}" for ink in cleared]
