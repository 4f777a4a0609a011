"""Folds of polls."""

from lab.classroom.events import poll
from lab.classroom.folds.folding import Sections, folds
from lab.classroom.state import Poll, State, Vote


@folds(poll.PollMade)
def _(state: State, event: poll.PollMade, at_us: int, who: str) -> Sections:
    state.polls[event.poll] = Poll(
        event.form,  # type: ignore[arg-type]
        event.text,
        event.choices,
        event.anonymous,
        event.asks_sure,
        event.right,
        event.step,
        when=event.when,
        holds=event.holds,
        asks=event.asks,
        within_s=event.within_s,
        tags=event.tags,
        other_text=event.other_text,
        other_choices=event.other_choices,
        # In logs of before, the class had one lesson.
        lesson=event.lesson or state.chapter,
    )
    state.poll = event.poll
    return (f"polls/{event.poll}",)


@folds(poll.PollOpened)
def _(state: State, event: poll.PollOpened, at_us: int, who: str) -> Sections:
    found = state.polls[event.poll]
    found.phase, found.until_us, found.is_split_open = "open", event.until_us, False
    before = found.rounds[-1] if found.rounds and not found.is_anonymous else {}
    found.rounds.append({})
    return f"polls/{event.poll}", *(f"mine/{p}" for p in before)


@folds(poll.Voted)
def _(state: State, event: poll.Voted, at_us: int, who: str) -> Sections:
    votes = state.polls[event.poll].rounds[event.round - 1]
    votes[event.voter] = Vote(event.answer, event.sure)
    return (f"polls/{event.poll}", f"mine/{event.voter}") if event.voter in state.people else (f"polls/{event.poll}",)


@folds(poll.PollClosed)
def _(state: State, event: poll.PollClosed, at_us: int, who: str) -> Sections:
    found = state.polls[event.poll]
    found.phase, found.until_us = "closed", 0
    return (f"polls/{event.poll}",)


@folds(poll.DiscussionBegan)
def _(state: State, event: poll.DiscussionBegan, at_us: int, who: str) -> Sections:
    found = state.polls[event.poll]
    found.phase, found.until_us = "discussed", event.until_us
    return (f"polls/{event.poll}",)


@folds(poll.SplitOpened)
def _(state: State, event: poll.SplitOpened, at_us: int, who: str) -> Sections:
    state.polls[event.poll].is_split_open = True
    return (f"polls/{event.poll}",)


@folds(poll.SplitShown)
def _(state: State, event: poll.SplitShown, at_us: int, who: str) -> Sections:
    state.polls[event.poll].is_shown = True
    return (f"polls/{event.poll}",)


@folds(poll.SettlingBegan)
def _(state: State, event: poll.SettlingBegan, at_us: int, who: str) -> Sections:
    found = state.polls[event.poll]
    found.settled_in, found.settled_from, found.why_not = event.lab, event.seq, ""
    return (f"polls/{event.poll}",)


@folds(poll.SettlingEnded)
def _(state: State, event: poll.SettlingEnded, at_us: int, who: str) -> Sections:
    found = state.polls[event.poll]
    found.settled_in, found.why_not = "", event.why
    return (f"polls/{event.poll}",)


@folds(poll.Revealed)
def _(state: State, event: poll.Revealed, at_us: int, who: str) -> Sections:
    found = state.polls[event.poll]
    found.is_revealed, found.settled_in, found.why_not = True, "", ""
    found.outcome, found.lab, found.seq, found.by = event.outcome, event.lab, event.seq, event.by
    return (f"polls/{event.poll}", "mistakes") if found.tags else (f"polls/{event.poll}",)


@folds(poll.PollEnded)
def _(state: State, event: poll.PollEnded, at_us: int, who: str) -> Sections:
    state.polls[event.poll].phase = "ended"
    if state.poll == event.poll:
        state.poll = 0
    return (f"polls/{event.poll}",)
