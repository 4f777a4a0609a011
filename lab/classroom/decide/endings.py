"""What ends when something else ends: a person leaves, a role changes, the class ends."""

from collections.abc import Iterator

from broker_core.events import Event
from lab.classroom.events import help, lead, pace, poll, tape
from lab.classroom.state import Person, State


def end_all_of(state: State, person: Person, why: str) -> Iterator[Event]:
    """Ends everything in which a person takes part: `why` is kicked, left or role."""
    p = person.p
    if person.hand is not None:
        yield help.HandLowered(p=p, why=why)
    if state.stage is not None and state.stage.p == p:
        yield lead.StageCleared(why=why)
    yield from end_lead(state, p, why)
    yield from end_sound(state, p)
    yield from end_looks(state, p)
    for by in person.looked_by:
        yield help.LookEnded(p=p, by=by)
    for learner, given in state.helps.items():
        if p in (learner, given.by):
            yield help.HelpEnded(p=learner, kept=True)


def end_lead(state: State, p: str, why: str) -> Iterator[Event]:
    """Ends the lead of `p`, and a hold with it."""
    if state.lead is not None and state.lead.p == p:
        if state.is_held:
            yield lead.Released(why="lead")
        yield lead.LeadEnded(term=state.lead.term, p=p, why=why)


def end_sound(state: State, p: str) -> Iterator[Event]:
    """Ends the recording of the sound of `p`."""
    if p and state.microphone == p:
        yield tape.MicrophoneSet(p=p, on=False)


def end_looks(state: State, by: str) -> Iterator[Event]:
    """Ends all looks of `by`."""
    for person in state.people.values():
        if by in person.looked_by:
            yield help.LookEnded(p=person.p, by=by)


def end_poll(state: State) -> Iterator[Event]:
    """Ends the current poll."""
    if state.poll:
        found = state.polls[state.poll]
        if found.phase == "open":
            yield poll.PollClosed(poll=state.poll, round=len(found.rounds))
        yield from end_settling(state, state.poll)
        yield poll.PollEnded(poll=state.poll)


def end_settling(state: State, number: int) -> Iterator[Event]:
    """Ends the settling of a poll; the lab continues to play."""
    if state.polls[number].settled_in:
        yield poll.SettlingEnded(poll=number, why="act")


def end_class(state: State) -> Iterator[Event]:
    """Ends everything in progress when the class ends, without `ClassEnded`."""
    yield from end_poll(state)
    if state.stage is not None:
        yield lead.StageCleared(why="class")
    if state.lead is not None:
        yield from end_lead(state, state.lead.p, "class")
    yield from end_sound(state, state.microphone)
    for person in state.people.values():
        for by in person.looked_by:
            yield help.LookEnded(p=person.p, by=by)
    for learner in state.helps:
        yield help.HelpEnded(p=learner, kept=True)
    if state.timer is not None:
        yield pace.TimerEnded(why="act")
    if state.is_paused:
        yield pace.AllResumed()
