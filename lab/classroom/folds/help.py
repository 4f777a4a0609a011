"""Folds of hands, questions, looking, helping and notes."""

from lab.classroom.events import help
from lab.classroom.folds.folding import Sections, folds, of_person
from lab.classroom.state import Hand, Help, Instant, Note, Question, State


@folds(help.HandRaised)
def _(state: State, event: help.HandRaised, at_us: int, who: str) -> Sections:
    at = Instant(event.lab, event.seq, event.at_us, event.selection, event.screen)
    state.people[event.p].hand = Hand(at_us, at)
    return of_person(event.p)


@folds(help.HandLowered)
def _(state: State, event: help.HandLowered, at_us: int, who: str) -> Sections:
    state.people[event.p].hand = None
    # the place of those behind
    behind = [one.p for one in state.people.values() if one.hand is not None]
    return (*of_person(event.p), *(f"mine/{p}" for p in behind))


@folds(help.Asked)
def _(state: State, event: help.Asked, at_us: int, who: str) -> Sections:
    at = Instant(event.lab, event.seq, event.at_us, event.selection, event.screen)
    state.questions[event.question] = Question(event.p, event.text, event.named, at_us, at)
    return f"questions/{event.question}", f"mine/{event.p}"


@folds(help.QuestionBacked)
def _(state: State, event: help.QuestionBacked, at_us: int, who: str) -> Sections:
    state.questions[event.question].backers.append(event.p)
    return f"questions/{event.question}", f"mine/{event.p}"


@folds(help.Answered)
def _(state: State, event: help.Answered, at_us: int, who: str) -> Sections:
    state.questions[event.question].answered = event.how
    return (f"questions/{event.question}",)


@folds(help.QuestionHidden)
def _(state: State, event: help.QuestionHidden, at_us: int, who: str) -> Sections:
    state.questions[event.question].is_hidden = event.hidden
    return (f"questions/{event.question}",)


@folds(help.LookBegan)
def _(state: State, event: help.LookBegan, at_us: int, who: str) -> Sections:
    state.people[event.p].looked_by.append(event.by)
    return of_person(event.p)


@folds(help.LookEnded)
def _(state: State, event: help.LookEnded, at_us: int, who: str) -> Sections:
    state.people[event.p].looked_by.remove(event.by)
    return of_person(event.p)


@folds(help.HelpBegan)
def _(state: State, event: help.HelpBegan, at_us: int, who: str) -> Sections:
    state.helps[event.p] = Help(event.by, event.lab, event.seq, wheel=event.p)
    return of_person(event.p)


@folds(help.HelperLeft)
def _(state: State, event: help.HelperLeft, at_us: int, who: str) -> Sections:
    given = state.helps[event.p]
    given.until_us, given.wheel = event.until_us, event.p
    return of_person(event.p)


@folds(help.HelpEnded)
def _(state: State, event: help.HelpEnded, at_us: int, who: str) -> Sections:
    del state.helps[event.p]
    return of_person(event.p)


@folds(help.WheelTaken)
def _(state: State, event: help.WheelTaken, at_us: int, who: str) -> Sections:
    state.helps[event.p].wheel = event.by
    return of_person(event.p)


@folds(help.NoteSent)
def _(state: State, event: help.NoteSent, at_us: int, who: str) -> Sections:
    state.notes[event.note] = Note(who, event.p, event.text, at_us)
    for p in (who, event.p):
        state.people[p].notes.append(event.note)
    return f"notes/{event.note}", f"mine/{who}", f"mine/{event.p}"
