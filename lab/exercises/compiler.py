"""Checks lessons as a compiler checks programs: nothing may be missing, already solved or unsolvable."""

import re
from collections.abc import Iterator
from functools import partial

from broker_core.events.console import CommandReceived
from broker_core.refusals import ShellError
from lab.exercises.bilingual import Bilingual
from lab.exercises.chain import chain_of
from lab.exercises.copied import in_a_copy
from lab.exercises.glossary import Term
from lab.exercises.lesson import Exercise, Step
from lab.exercises.loader import ContentError
from lab.exercises.questions import choices_of
from lab.exercises.solution import Rehearsal, Section, lesson_run, other_ways_of, wrong_sections_of
from lab.runtime.headless.rehearsal import check_line
from lab.texts.keys import KEY_OF_A_CONTROL

SEEDS = (1, 2, 3, 4, 5)
MIN_MINUTES, MAX_MINUTES = 4, 10
WORDS_A_MINUTE = 180
STEP_MINUTES, QUESTION_MINUTES = 0.7, 0.5
TOLERANCE = 2.0
_CODE_LINE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
_TABLE = re.compile(r"^\|", re.MULTILINE)
_KEY = re.compile(r"`(?:Space|空格|Enter|Tab|Shift|Esc|Home|End|[\[\].,])`|`` ` ``|\b(?:Shift|Ctrl|Esc|Escape)\b")
_PLACE = re.compile(r"`[^`]+`|[A-Z]\w+ |\d")


def problems(
    exercise: Exercise,
    terms: dict[str, Term],
) -> Iterator[str]:
    """The problems of a lesson."""
    yield from _texts(exercise, terms)
    yield from _questions(exercise)
    yield from _minutes(exercise)
    yield from _lines(exercise)
    answers: dict[str, set[str]] = {}
    # Another seed leads to another leader and other latencies: the solution must not depend on them.
    for seed in SEEDS:
        try:
            yield from (f"{fault} (seed {seed})" for fault in _played(exercise, seed, answers))
        except ContentError as error:
            yield f"{error} (seed {seed})"
    for step in exercise.steps:
        if step.answer is None or step.answer.constant or len(SEEDS) == 1:
            continue
        if len(answers.get(step.id, ())) == 1:
            yield f"{exercise.slug}: the answer of {step.id!r} is the same for each seed; mark it as constant."


def _texts(exercise: Exercise, terms: dict[str, Term]) -> Iterator[str]:
    for term in exercise.terms:
        if term not in terms:
            yield f"{exercise.slug}: the term {term!r} is not in docs/GLOSSARY.md."
    said = " ".join([exercise.brief.en, exercise.debrief.en, *(step.text.en for step in exercise.steps)]).lower()
    for term in exercise.terms:
        if term.lower() not in said:
            yield f"{exercise.slug}: the term {term!r} is listed, but no text uses it."
    if any(_TABLE.search(one) for text in _texts_of(exercise) for one in (text.en, text.zh)):
        yield f"{exercise.slug}: a text has a table, which the page does not show; write a list."
    shown = [*_texts_of(exercise), *(wrong.text for step in exercise.steps for wrong in step.wrong)]
    for key in (found[0] for text in shown for one in (text.en, text.zh) if (found := _bare_key(one))):
        yield f"{exercise.slug}: a text names the key {key}, and a phone has none; name what it does: play (`Space`)."
    if exercise.chain is None:
        yield f"{exercise.slug}: it has no [chain]; expected the event that the debrief explains."
    for step in exercise.steps:
        if not exercise.hints_for(step.id):
            yield f"{exercise.slug}: no hint helps with {step.id!r}."
    if exercise.hints and not _PLACE.search(exercise.hints[-1].en):
        yield f"{exercise.slug}: the last hint names neither a line nor a place."
    yield from _revealing_hints(exercise)


def _bare_key(text: str) -> re.Match[str] | None:
    """A key that is not in parentheses after its action, where the page shows the control's symbol."""
    return _KEY.search(re.sub(KEY_OF_A_CONTROL, "", text))


def _revealing_hints(exercise: Exercise) -> Iterator[str]:
    """Hints that name the outcome of a prediction which is still open. One digit may be the number of a broker."""
    for step in exercise.steps:
        expected = [str(choice.value) for choice in choices_of(step) if choice.expected and step.prediction]
        for outcome in (value for value in expected if len(value) > 1):
            for place in exercise.hints_for(step.id):
                prose = _CODE.sub(" ", exercise.hints[place].en)
                if re.search(rf"(?<![\w.]){re.escape(outcome)}(?!\w)", prose):
                    yield f"{exercise.slug}: hint {place + 1} gives away the outcome of {step.id!r}: {outcome}."


def _questions(exercise: Exercise) -> Iterator[str]:
    for step in exercise.steps:
        choices = choices_of(step)
        if choices and not any(choice.expected for choice in choices):
            yield f"{exercise.slug}: no choice of {step.id!r} is expected."
        for choice in choices:
            if choice.reason is None:
                yield f"{exercise.slug}: choice {choice.value!r} of {step.id!r} has no reason."
            if bool(choice.tag) == choice.expected and step.prediction is not None:
                yield f"{exercise.slug}: choice {choice.value!r} of {step.id!r}: expected a tag, none if it is right."


def _minutes(exercise: Exercise) -> Iterator[str]:
    parts = [part.minutes for part in exercise.parts] or [exercise.minutes]
    if sum(parts) != exercise.minutes:
        yield f"{exercise.slug}: the parts take {sum(parts)} minutes, and the lesson {exercise.minutes}."
    for minutes in parts:
        if not MIN_MINUTES <= minutes <= MAX_MINUTES:
            yield f"{exercise.slug}: a part of {minutes} minutes; expected {MIN_MINUTES} to {MAX_MINUTES}."
    texts = [exercise.brief, exercise.debrief, *(step.text for step in exercise.steps)]
    words = sum(len(text.en.split()) for text in texts)
    questions = sum(step.kind != "goals" for step in exercise.steps)
    estimate = words / WORDS_A_MINUTE + len(exercise.steps) * STEP_MINUTES + questions * QUESTION_MINUTES
    if not estimate / TOLERANCE <= exercise.minutes <= estimate * TOLERANCE:
        yield f"{exercise.slug}: {exercise.minutes} minutes; its texts and steps suggest {estimate:.0f}."


def _lines(exercise: Exercise) -> Iterator[str]:
    for text in _texts_of(exercise):
        english, chinese = ([line.split()[0] for line in _code_of(one)] for one in (text.en, text.zh))
        if english != chinese:
            yield f"{exercise.slug}: the lines of code differ between English and Chinese: {english}, {chinese}."
        for line in _code_of(text.en):
            try:
                check_line(line)
            except ShellError as error:
                yield f"{exercise.slug}: the line {line!r} is not accepted: {error}"


def _texts_of(exercise: Exercise) -> list[Bilingual]:
    return [exercise.brief, exercise.debrief, *exercise.hints, *(step.text for step in exercise.steps)]


def _code_of(text: str) -> list[str]:
    blocks = (found[1].replace("\\\n", " ") for found in _CODE_LINE.finditer(text))
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def _played(exercise: Exercise, seed: int, answers: dict[str, set[str]]) -> Iterator[str]:
    aside = [
        *((_wrong_state, section) for section in wrong_sections_of(exercise)),
        *((_other_way, section) for section in other_ways_of(exercise)),
    ]
    faults: list[str] = []

    def play_aside(step: str) -> None:
        here = [(check, section) for check, section in aside if section.step.partition("/")[0] == step]
        faults.extend(filter(None, (in_a_copy(partial(check, rehearsal, section)) for check, section in here)))

    rehearsal = Rehearsal(exercise, lesson_run(exercise, seed))
    rehearsal.play(before=play_aside)
    steps = {step["id"]: step for step in rehearsal.session.frame("en")["steps"]}
    for step in exercise.steps:
        yield from _outcome(exercise, step, steps[step.id], answers)
    if exercise.chain is not None:
        yield from _chain(exercise, rehearsal)
    yield from faults


def _wrong_state(rehearsal: Rehearsal, section: Section) -> str:
    """Plays a section of wrong.lab at the start of its step. Returns the problem with it."""
    exercise = rehearsal.exercise
    id, _, wrong = section.step.partition("/")
    try:
        rehearsal.do(section)
    except ContentError as error:
        return str(error)
    shown = next(one for one in rehearsal.session.frame("en")["steps"] if one.get("id") == id)
    wanted = next(one.text.en for one in exercise.step(id).wrong if one.id == wrong)
    if shown["state"] == "active" and shown["wrong"] == wanted:
        return ""
    return (
        f"{exercise.slug}/wrong.lab: [{section.step}] does not lead to its wrong state: "
        f"the step is {shown['state']} and shows {shown['wrong'] or shown['why_not']!r}."
    )


def _other_way(rehearsal: Rehearsal, section: Section) -> str:
    """Plays another way to bring a step about, at its start. Returns the problem with it."""
    exercise = rehearsal.exercise
    id = section.step.partition("/")[0]
    try:
        rehearsal.do(section)
    except ContentError as error:
        return str(error)
    shown = next(one for one in rehearsal.session.frame("en")["steps"] if one.get("id") == id)
    if shown["state"] != "done":
        return f"{exercise.slug}/solution.lab: [{section.step}] does not complete the step: {shown['why_not']}"
    return " ".join(f"[{section.step}] {fault}" for fault in _outcome(exercise, exercise.step(id), shown, {}))


def _outcome(exercise: Exercise, step: Step, shown: dict[str, object], answers: dict[str, set[str]]) -> Iterator[str]:
    given = shown["given"]
    if not isinstance(given, dict):
        return
    outcome = str(given["outcome"] or given["choice"])
    answers.setdefault(step.id, set()).add(outcome)
    expected = next((choice.value for choice in choices_of(step) if choice.expected), None)
    if expected is not None and outcome != expected:
        yield f"{exercise.slug}: the outcome of {step.id!r} is {outcome!r}; {expected!r} is marked as expected."
    said = shown["said"]
    if isinstance(said, dict) and len(set(said.values())) != len(said):
        yield f"{exercise.slug}: two choices of {step.id!r} mean the same: {said}."


def _chain(exercise: Exercise, rehearsal: Rehearsal) -> Iterator[str]:
    debrief = rehearsal.session.frame("en")["debrief"]
    if not debrief["chain"]:
        yield f"{exercise.slug}: what the debrief's chain explains has not happened in the solution."
        return
    by_seq = {envelope[0]: envelope for envelope in (*rehearsal.before, *rehearsal.envelopes)}
    parts = chain_of(
        lambda first, last: [by_seq[seq] for seq in range(first, last + 1) if seq in by_seq],
        debrief["chain"],
        debrief["via"],
    )
    end, began = parts[-1].events[-1], rehearsal.envelopes[0][0]
    if not isinstance(end[4], CommandReceived) or end[0] < began:
        kinds = [type(envelope[4]).__name__ for part in parts for envelope in part.events]
        yield f"{exercise.slug}: the debrief's chain does not reach a command of the solution: {' <- '.join(kinds)}."
