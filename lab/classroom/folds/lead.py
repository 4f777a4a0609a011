"""Folds of leading, following, the stage, and where the labs are."""

from lab.classroom.events import lead
from lab.classroom.folds.folding import Sections, folds, of_person
from lab.classroom.state import Lead, Stage, State


@folds(lead.LeadTaken)
def _(state: State, event: lead.LeadTaken, at_us: int, who: str) -> Sections:
    begins = state.lead is None
    state.term = event.term
    state.lead = Lead(event.term, event.p, event.lab)
    state.view, state.lead_lab = "", None
    changed = ["lead", "view", "lead_lab"]
    if begins:
        for person in state.people.values():
            person.follows = not person.is_staff
            changed += of_person(person.p)
    return changed


@folds(lead.LeadEnded)
def _(state: State, event: lead.LeadEnded, at_us: int, who: str) -> Sections:
    state.lead, state.view, state.lead_lab = None, "", None
    strokes = [f"ink/{ink}" for ink in state.ink]
    state.ink.clear()
    followed = [person for person in state.people.values() if person.follows]
    for person in followed:
        person.follows = False
    return ("lead", "view", "lead_lab", *strokes, *(path for one in followed for path in of_person(one.p)))


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
    state.stage = Stage(event.p, state.people[event.p].lab, until_us=event.until_us)
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
    if state.stage is None:
        return ()
    state.stage.is_shown, state.stage.until_us, state.stage.lab = True, 0, event.lab
    return ("stage", *of_person(state.stage.p))


@folds(lead.StageCleared)
def _(state: State, event: lead.StageCleared, at_us: int, who: str) -> Sections:
    before, state.stage = state.stage, None
    return ("stage", *of_person(before.p)) if before else ("stage",)


@folds(lead.LabMoved)
def _(state: State, event: lead.LabMoved, at_us: int, who: str) -> Sections:
    state.lead_lab = (event.lab, event.seq, event.at_us, event.mode, event.rate_us)
    return ("lead_lab",)


@folds(lead.LabsSeen)
def _(state: State, event: lead.LabsSeen, at_us: int, who: str) -> Sections:
    return ()
