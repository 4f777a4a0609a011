"""Folds of what learners reach in their labs."""

from lab.classroom.events import work
from lab.classroom.folds.folding import Sections, folds, of_person
from lab.classroom.results.mistakes import mistake_key
from lab.classroom.state import Mistake, Person, State

DONE, HINTED, SKIPPED, LOST = "done", "hinted", "skipped", "lost"
PASSED = (DONE, HINTED, SKIPPED)


@folds(work.StepReached)
def _(state: State, event: work.StepReached, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    done = HINTED if person.hints.get(event.step) else DONE
    person.signs[event.step] = SKIPPED if event.skipped else done
    _progress(person, at_us)
    while person.signs.get(person.step) in PASSED:
        person.step += 1
    return of_person(event.p)


def _progress(person: Person, at_us: int) -> None:
    person.refused = person.resets = person.lost = 0
    person.progress_us, person.stopped_us = at_us, 0


@folds(work.StepLost)
def _(state: State, event: work.StepLost, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.signs[event.step] = LOST
    person.lost += 1
    person.step = min(person.step, event.step)
    return of_person(event.p)


@folds(work.WorkReset)
def _(state: State, event: work.WorkReset, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.signs.clear()
    person.hints.clear()
    person.step = 1
    person.resets += 1
    return of_person(event.p)


@folds(work.HintTaken)
def _(state: State, event: work.HintTaken, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.hints[event.step] = max(person.hints.get(event.step, 0), event.hint)
    return of_person(event.p)


@folds(work.Predicted)
def _(state: State, event: work.Predicted, at_us: int, who: str) -> Sections:
    state.people[event.p].predictions += 1
    return of_person(event.p)


@folds(work.Settled)
def _(state: State, event: work.Settled, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.settled += 1
    person.right += event.right
    return of_person(event.p)


@folds(work.Refused)
def _(state: State, event: work.Refused, at_us: int, who: str) -> Sections:
    state.people[event.p].refused += 1
    return of_person(event.p)


@folds(work.MistakeMade)
def _(state: State, event: work.MistakeMade, at_us: int, who: str) -> Sections:
    key = mistake_key(event.what, event.by, event.step)
    found = state.mistakes.setdefault(key, Mistake(event.by))  # type: ignore[arg-type]
    found.last_us = at_us
    for known, one in ((found.people, event.p), (found.steps, event.step)):
        if one not in known:
            known.append(one)  # type: ignore[arg-type]
    return ("mistakes",)


@folds(work.MistakesShown)
def _(state: State, event: work.MistakesShown, at_us: int, who: str) -> Sections:
    state.are_mistakes_shown = event.on
    return ("mistakes",)


@folds(work.StuckBegan)
def _(state: State, event: work.StuckBegan, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.stuck, person.stuck_why, person.stuck_count = event.state, event.why, event.count
    person.stuck_us = at_us - event.working_s * 1_000_000
    return (f"people/{event.p}",)


@folds(work.StuckEnded)
def _(state: State, event: work.StuckEnded, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.stuck, person.stuck_why, person.stuck_count, person.stuck_us = "", "", 0, 0
    return (f"people/{event.p}",)


@folds(work.StuckSeen)
def _(state: State, event: work.StuckSeen, at_us: int, who: str) -> Sections:
    state.people[event.p].stuck_seen_until_us = event.until_us
    return (f"people/{event.p}",)
