"""Decides the views, pointers and strokes of the presenter."""

from broker_core.events import Event
from broker_core.texts import text
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import STAFF, decides, states
from lab.classroom.decide.lead import leads
from lab.classroom.events import seen
from lab.classroom.state import Person, State
from lab.texts.refusal import Refusal

MAX_STROKES = 500


@states(facts.ChangeView)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.ChangeView = given.do  # type: ignore[assignment]
    if state.lead is None or state.lead.term != act.term or state.view == act.view:
        return []
    return [seen.ViewChanged(view=act.view)]


@states(facts.Point)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Point = given.do  # type: ignore[assignment]
    # Off the record, pointers are not written; pages have already shown them.
    if state.lead is None or state.lead.term != act.term or not state.is_recording:
        return []
    return [seen.Pointed(anchor=act.anchor, u=act.u, v=act.v, down=act.down)]


@decides(ops.Draw, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Draw = given.do  # type: ignore[assignment]
    leads(state, who)
    if len(state.ink) >= MAX_STROKES:
        raise Refusal("class_act.limit", 409, things=text("class_act.things.strokes"), max=MAX_STROKES)
    return [seen.InkDrawn(ink=state.last_ink + 1, anchor=act.anchor, points=act.points)]


@decides(ops.ClearInk, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.ClearInk = given.do  # type: ignore[assignment]
    there = tuple(ink for ink in act.inks if ink in state.ink)
    if not state.ink or (act.inks and not there):
        return []
    return [seen.InkCleared(inks=there)]
