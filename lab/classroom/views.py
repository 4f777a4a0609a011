"""What pages show of a class, by section: for staff, for everyone else, and for a single person.

A section is the JSON value at one path, `lead` or `people/p7`. A page has the tree of all sections that its person may
see; when one changes, it gets the new value.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import msgspec

from lab.classroom.audience import Audience
from lab.classroom.polls import advice, right_answer, split_of
from lab.classroom.results.mistakes import FEWEST_SHOWN, mistakes_of
from lab.classroom.state import Help, Instant, Person, Poll, Question, State


class Words(Protocol):
    """Names and free texts from the database."""

    def name(self, p: str) -> str:
        """The name of a participant; empty for none."""

    def text(self, number: int) -> tuple[str, str]:
        """A free text and its language; both empty if it was erased."""


Show: TypeAlias = Callable[[State, Words, Audience], Any]


def section(state: State, words: Words, audience: Audience, path: str) -> Any:
    """The value of a section for an audience; None if it does not exist."""
    name, _, rest = path.partition("/")
    if name == "mine":
        return own_view(state, words, rest)
    if not rest:
        return _WHOLE[name](state, words, audience)
    show, has_number = _PARTS[name]
    return show(state, words, audience, int(rest) if has_number else rest)


def paths(state: State) -> list[str]:
    """The paths of all existing sections, in the order in which a page applies them."""
    singles = [name for name in _WHOLE if name not in _PARTS]
    parts = [f"{name}/{key}" for name in _PARTS for key in getattr(state, name)]
    return [*singles, *parts, *(f"mine/{p}" for p in state.people)]


def _instant(at: Instant) -> dict[str, Any]:
    return msgspec.to_builtins(at)  # type: ignore[no-any-return]


def _class(state: State, words: Words, audience: Audience) -> Any:
    return {
        "chapter": state.chapter,
        "steps": state.steps,
        "minutes": state.minutes,
        "opened_us": state.opened_us,
        "ended": state.ended,
        "handout": state.handout,
    }


def _staff(state: State, words: Words, audience: Audience) -> Any:
    return {
        person.p: {"name": words.name(person.p), "role": person.role, "presence": person.presence}
        for person in state.staff()
    }


def _lead(state: State, words: Words, audience: Audience) -> Any:
    if state.lead is None:
        return None
    return {
        "term": state.lead.term,
        "p": state.lead.p,
        "name": words.name(state.lead.p),
        "lab": state.lead.lab,
        "presence": state.people[state.lead.p].presence,
    }


def _stage(state: State, words: Words, audience: Audience) -> Any:
    stage = state.stage
    if stage is None or not (stage.is_shown or audience == "staff"):
        return None
    shows_who = audience == "staff" or stage.is_named
    return {
        "lab": stage.lab,
        "shown": stage.is_shown,
        "until_us": stage.until_us,
        "p": stage.p if shows_who else "",
        "name": words.name(stage.p) if shows_who else "",
    }


def _view(state: State, words: Words, audience: Audience) -> Any:
    return msgspec.Raw(state.view.encode()) if state.view else None


def _lead_lab(state: State, words: Words, audience: Audience) -> Any:
    if state.lead_lab is None:
        return None
    return dict(zip(("lab", "seq", "at_us", "mode", "rate_us"), state.lead_lab, strict=True))


def _timer(state: State, words: Words, audience: Audience) -> Any:
    timer = state.timer
    return {"from_us": timer.from_us, "seconds": timer.seconds} if timer else None


def _audio(state: State, words: Words, audience: Audience) -> Any:
    by = state.microphone
    return {
        "p": by,
        "name": words.name(by) if by else "",
        "arrived_us": state.audio_us,
        "lost_us": state.audio_lost_us,
    }


def _person(state: State, words: Words, audience: Audience, p: str) -> Any:
    person = state.people.get(p)
    if person is None or person.is_kicked:
        return None
    shown: dict[str, Any] = {
        "name": words.name(p),
        "role": person.role,
        "presence": person.presence,
        "since_us": person.since_us,
        "waits": person.waits,
    }
    if person.claims:
        shown["claims"] = person.claims
    if person.role == "learner":
        shown |= _work_of(state, person)
    if p in state.helps:
        shown["help"] = _help(state.helps[p])
    return shown


def _work_of(state: State, person: Person) -> dict[str, Any]:
    hand = person.hand
    return {
        "lab": person.works_in,
        "lab_refused": person.lab_refused,
        "step": person.step,
        "signs": {str(step): sign for step, sign in sorted(person.signs.items())},
        "hints": sum(person.hints.values()),
        "refused": person.refused,
        "right": person.right,
        "settled": person.settled,
        "follows": person.follows,
        "out_of_hold": person.is_out_of_hold,
        "stuck": person.stuck,
        "stuck_why": person.stuck_why,
        "stuck_count": person.stuck_count,
        "stuck_us": person.stuck_us,
        "seen_until_us": person.stuck_seen_until_us,
        "hand": {"raised_us": hand.raised_us, **_instant(hand.at)} if hand else None,
        "looked_by": person.looked_by,
        "time_percent": person.time_percent,
        "stage_refusals": person.stage_refusals,
        "may_be_asked": person.may_be_asked,
    }


def _help(given: Help) -> Any:
    return {
        "by": given.by,
        "lab": given.lab,
        "seq": given.seq,
        "wheel": given.wheel,
        "until_us": given.until_us,
    }


def _question(state: State, words: Words, audience: Audience, number: int) -> Any:
    asked = state.questions.get(number)
    if asked is None or (asked.is_hidden and audience != "staff"):
        return None
    return question_view(asked, words, shows_who=audience == "staff" or asked.is_named, shows_place=audience == "staff")


def question_view(asked: Question, words: Words, *, shows_who: bool, shows_place: bool) -> dict[str, Any]:
    """A question for a viewer. Only staff and the owner may see the instant of the lab."""
    body, language = words.text(asked.text)
    return {
        "text": body,
        "lang": language,
        "p": asked.p if shows_who else "",
        "name": words.name(asked.p) if shows_who else "",
        "asked_us": asked.asked_us,
        "backers": len(asked.backers),
        "answered": asked.answered,
        "hidden": asked.is_hidden,
        "at": _instant(asked.at) if shows_place else None,
    }


def _mistakes(state: State, words: Words, audience: Audience) -> Any:
    if audience == "staff":
        rows = msgspec.to_builtins(mistakes_of(state))
        return {"shown": state.are_mistakes_shown, "fewest": FEWEST_SHOWN, "rows": rows}
    if not state.are_mistakes_shown:
        return None
    # The mistake of a single learner is not shown to the class.
    rows = msgspec.to_builtins(mistakes_of(state, fewest=FEWEST_SHOWN))
    return {"shown": True, "fewest": FEWEST_SHOWN, "rows": rows}


def _note(state: State, words: Words, audience: Audience, number: int) -> Any:
    note = state.notes.get(number)
    if note is None:
        return None
    body, language = words.text(note.text)
    return {"from": note.sender, "to": note.p, "text": body, "lang": language, "sent_us": note.sent_us}


def _poll(state: State, words: Words, audience: Audience, number: int) -> Any:
    poll = state.polls.get(number)
    if poll is None or (poll.phase == "made" and audience != "staff"):
        return None
    body, language = words.text(poll.text)
    shown = {
        "form": poll.form,
        "text": body,
        "lang": language,
        "choices": [words.text(choice)[0] for choice in poll.choices],
        "anonymous": poll.is_anonymous,
        "asks_sure": poll.asks_sure,
        "step": poll.step,
        "lesson": poll.lesson,
        "phase": poll.phase,
        "until_us": poll.until_us,
        "round": len(poll.rounds),
        "shown": poll.is_shown,
    }
    if poll.other_choices:
        shown["other"] = {
            "lang": words.text(poll.other_choices[0])[1],
            "text": words.text(poll.other_text)[0] if poll.other_text else "",
            "choices": [words.text(choice)[0] for choice in poll.other_choices],
        }
    if audience == "staff":
        shown |= _poll_for_staff(poll)
    elif poll.is_shown:
        shown["splits"] = _splits(poll)
    if poll.settled_in:
        shown["settling"] = {"lab": poll.settled_in, "seq": poll.settled_from}
    if poll.is_revealed:
        shown |= {"outcome": poll.outcome, "lab": poll.lab, "seq": poll.seq, "by": poll.by}
    return shown


def _splits(poll: Poll) -> list[Any]:
    # An open round has no split yet, even if earlier rounds were shown.
    done = poll.rounds[:-1] if poll.phase == "open" else poll.rounds
    right = poll.outcome
    return [msgspec.to_builtins(split_of(votes, right)) for votes in done]


def _poll_for_staff(poll: Poll) -> dict[str, Any]:
    right = right_answer(poll)
    splits = [split_of(votes, right) for votes in poll.rounds]
    is_split_hidden = poll.phase == "open" and not poll.is_split_open
    shown = splits[:-1] if is_split_hidden else splits
    closed = poll.phase != "open" and bool(splits)
    return {
        "right": right,
        "votes": len(poll.rounds[-1]) if poll.rounds else 0,
        "splits": msgspec.to_builtins(shown),
        "split_open": poll.is_split_open,
        "advice": advice(splits[-1]) if closed else "",
        "voted": sorted(poll.rounds[-1]) if poll.rounds and not poll.is_anonymous else [],
        "by_lab": poll.is_settled_by_lab,
        "why_not": poll.why_not,
    }


def _stroke(state: State, words: Words, audience: Audience, ink: int) -> Any:
    stroke = state.ink.get(ink)
    return {"anchor": stroke.anchor, "points": stroke.points} if stroke else None


def _handout(state: State, words: Words, audience: Audience, number: int) -> Any:
    given = state.handouts.get(number)
    return {"seq": given.seq, "at_us": given.at_us, "lab": given.lab} if given else None


def _chapter(state: State, words: Words, audience: Audience, number: int) -> Any:
    chapter = state.chapters.get(number)
    if chapter is None:
        return None
    body, language = words.text(chapter.text)
    return {"begins_us": chapter.begins_us, "text": body, "lang": language}


Part: TypeAlias = Callable[[State, Words, Audience, Any], Any]

_PARTS: dict[str, tuple[Part, bool]] = {
    "people": (_person, False),
    "questions": (_question, True),
    "notes": (_note, True),
    "polls": (_poll, True),
    "ink": (_stroke, True),
    "handouts": (_handout, True),
    "chapters": (_chapter, True),
}
"""Sections with a part for each thing, by the name of the state's table of them: what shows one, and whether its key is
a number.
"""
PARTS = tuple(_PARTS)

_WHOLE: dict[str, Show] = {
    "class": _class,
    "door": lambda state, words, audience: msgspec.to_builtins(state.door),
    "staff": _staff,
    "lead": _lead,
    "hold": lambda state, words, audience: state.hold_until_us or None,
    "stage": _stage,
    "view": _view,
    "lead_lab": _lead_lab,
    "pace": lambda state, words, audience: state.pace,
    "paused": lambda state, words, audience: state.is_paused,
    "timer": _timer,
    "mistakes": _mistakes,
    "recording": lambda state, words, audience: state.is_recording,
    "audio": _audio,
}


def own_view(state: State, words: Words, p: str) -> Any:
    """The personal section."""
    person = state.people.get(p)
    if person is None:
        return None
    stage = state.stage
    return {
        "role": person.role,
        "name": words.name(p),
        "waits": person.waits,
        "kicked": person.is_kicked,
        "lab": person.works_in,
        "own_lab": person.lab,
        "lab_refused": person.lab_refused,
        "step": person.step,
        "signs": {str(step): sign for step, sign in sorted(person.signs.items())},
        "follows": person.follows,
        "out_of_hold": person.is_out_of_hold,
        "hand_us": person.hand.raised_us if person.hand else 0,
        "hand_place": _place_of_hand(state, person),
        "looked_by": person.looked_by,
        "help": _help(state.helps[p]) if p in state.helps else None,
        "stage_until_us": stage.until_us if stage is not None and stage.p == p and not stage.is_shown else 0,
        "on_stage": stage is not None and stage.p == p and stage.is_shown,
        "time_percent": person.time_percent,
        "taken": {str(number): lab for number, lab in person.taken.items()},
        "backed": [number for number, asked in state.questions.items() if p in asked.backers],
        "asked": [number for number, asked in state.questions.items() if asked.p == p],
        "notes": {str(number): _note(state, words, "staff", number) for number in person.notes},
        "votes": dict(_votes_of(state, p)),
        "marks": [mark.marked_us for mark in state.marks if mark.p == p],
    }


def _place_of_hand(state: State, person: Person) -> int:
    """Position in the queue of raised hands, from 1; 0 without a raised hand."""
    hand = person.hand
    if hand is None:
        return 0
    return 1 + sum(one.hand is not None and one.hand.raised_us < hand.raised_us for one in state.people.values())


def _votes_of(state: State, p: str) -> Iterator[tuple[str, Any]]:
    """The person's votes in the last round of polls that are not anonymous. For anonymous polls, the page itself keeps
    the vote.
    """
    for number, poll in state.polls.items():
        if poll.rounds and p in poll.rounds[-1]:
            vote = poll.rounds[-1][p]
            yield str(number), {"answer": vote.answer, "sure": vote.sure, "round": len(poll.rounds)}
