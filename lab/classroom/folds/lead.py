"""Folds of leading, following, the stage, and where the labs are."""

from collections.abc import Iterator

from lab.classroom.events import lead
from lab.classroom.folds.folding import Sections, folds, of_person
from lab.classroom.state import Lead, Stage, State


@folds(lead.LeadTaken)
def _(state: State, event: lead.LeadTaken, at_us: int, who: str) -> Sections:
    begins = state.lead is None
    state.term = event.term
    state.lead = Lead(event.term, event.p, event.lab, state.handout)
    state.view, state.lead_lab = "", None
    changed = ["lead", "view", "lead_lab"]
    if begins:
        changed += _all_follow(state)
    return changed


def _all_follow(state: State) -> Iterator[str]:
    """All learners follow; the one on stage, who is followed, begins when the stage is cleared."""
    stage = state.stage
    shown = ""
    if stage is not None and stage.is_shown:
        shown, stage.was_following = stage.p, True
    for person in state.people.values():
        person.follows = not person.is_staff and person.p != shown
        yield from of_person(person.p)


def _nobody_follows(state: State) -> Iterator[str]:
    for person in state.people.values():
        if person.follows:
            person.follows = False
            yield from of_person(person.p)


@folds(lead.LeadEnded)
def _(state: State, event: lead.LeadEnded, at_us: int, who: str) -> Sections:
    state.lead, state.view, state.lead_lab = None, "", None
    strokes = [f"ink/{ink}" for ink in state.ink]
    state.ink.clear()
    is_stage_shown = state.stage is not None and state.stage.is_shown
    return ("lead", "view", "lead_lab", *strokes, *(() if is_stage_shown else _nobody_follows(state)))


@folds(lead.Held)
def _(state: State, event: lead.Held, at_us: int, who: str) -> Sections:
    state.hold_until_us = event.until_us
    for person in state.people.values():
        person.is_out_of_hold = False
    return ("hold", *(path for one in state.learners() for path in of_person(one.p)))


@folds(lead.Released)
def _(state: State, event: lead.Released, at_us: int, who: str) -> Sections:
    state.hold_until_us = 0
    out = [person for person in state.people.values() if person.is_out_of_hold]
    for person in out:
        person.is_out_of_hold = False
    return ("hold", *(path for one in out for path in of_person(one.p)))


@folds(lead.HoldLeft)
def _(state: State, event: lead.HoldLeft, at_us: int, who: str) -> Sections:
    state.people[event.p].is_out_of_hold = True
    return of_person(event.p)


@folds(lead.Detached)
def _(state: State, event: lead.Detached, at_us: int, who: str) -> Sections:
    state.people[event.p].follows = False
    return of_person(event.p)


@folds(lead.Rejoined)
def _(state: State, event: lead.Rejoined, at_us: int, who: str) -> Sections:
    state.people[event.p].follows = True
    return of_person(event.p)


@folds(lead.StageAsked)
def _(state: State, event: lead.StageAsked, at_us: int, who: str) -> Sections:
    state.stage = Stage(event.p, state.people[event.p].works_in, until_us=event.until_us)
    return ("stage", *of_person(event.p))


@folds(lead.StageAnswered)
def _(state: State, event: lead.StageAnswered, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    if not event.accepted:
        person.stage_refusals += 1
    elif state.stage is not None:
        state.stage.is_named = event.named
    return ("stage", *of_person(event.p))


@folds(lead.StageShown)
def _(state: State, event: lead.StageShown, at_us: int, who: str) -> Sections:
    stage = state.stage
    if stage is None:
        return ()
    stage.is_shown, stage.until_us, stage.lab = True, 0, event.lab
    person = state.people[stage.p]
    stage.was_following, person.follows = person.follows, False
    # While a presenter leads, their followers switch to the stage, and learners who work alone are left alone.
    return ("stage", *of_person(stage.p), *(_all_follow(state) if state.lead is None else ()))


@folds(lead.StageCleared)
def _(state: State, event: lead.StageCleared, at_us: int, who: str) -> Sections:
    before, state.stage = state.stage, None
    if before is None:
        return ("stage",)
    if before.is_shown and state.lead is None:
        return ("stage", *of_person(before.p), *_nobody_follows(state))
    if before.is_shown:
        state.people[before.p].follows = before.was_following
    return ("stage", *of_person(before.p))


@folds(lead.LabMoved)
def _(state: State, event: lead.LabMoved, at_us: int, who: str) -> Sections:
    state.lead_lab = (event.lab, event.seq, event.at_us, event.mode, event.rate_us)
    return ("lead_lab",)


@folds(lead.LabsSeen)
def _(state: State, event: lead.LabsSeen, at_us: int, who: str) -> Sections:
    return ()
