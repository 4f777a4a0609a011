"""Questions of a lesson: the meanings of their choices, and which of them came true."""

import random
import re
from collections.abc import Sequence

from broker_core.texts import Text, render, text
from lab.exercises.happenings import RpcArrives
from lab.exercises.lesson import Choice, Exercise, Prediction, Step, Transfer, TransferChoice
from lab.exercises.moment import Moment
from lab.exercises.places import Unresolved
from lab.exercises.progress import Checked, Meaning, Progress
from lab.exercises.quantities import Quantity, quantity_text, shown, value_of
from lab.exercises.tally import Tally
from lab.learning.scoring import is_stop
from lab.texts.refusal import Refusal

MAX_ANSWER_LENGTH = 40
SINCE_MISSING = "goal.since_missing"
_NUMBER = re.compile(r"(?:b|broker )?(-?\d+)", re.IGNORECASE)


def choices_of(step: Step) -> Sequence[Choice]:
    """The choices of a step's question; empty for a number that is typed, and for a step with goals."""
    question = step.prediction or step.answer
    return question.choices if question else ()


def asked_by(step: Step) -> Quantity:
    """What a step's question asks for; 0 for a step with goals."""
    question = step.prediction or step.answer
    return question.asks if question else 0


def meanings_of(choices: Sequence[Choice], moment: Moment) -> dict[str, Meaning]:
    """The current meanings of choices. Raises Unresolved."""
    return {choice.value: None if choice.later else _meaning(choice, moment) for choice in choices}


def _meaning(choice: Choice, moment: Moment) -> Meaning:
    return choice.word if choice.offset is None else value_of(moment, choice.offset)


def outcome_of(choices: Sequence[Choice], meanings: dict[str, Meaning], moment: Moment, found: int | str) -> str:
    """The name of the choice that came true; if none did, what was found, as text."""
    return next((one.value for one in choices if _is_met(one, meanings.get(one.value), moment, found)), str(found))


def _is_met(choice: Choice, meaning: Meaning, moment: Moment, found: int | str) -> bool:
    if meaning is None and (choice.offset is not None or choice.word is not None):
        try:
            meaning = _meaning(choice, moment)
        except Unresolved:
            return False
    if meaning is not None:
        return meaning == found
    if isinstance(found, str):
        return False
    return (choice.at_least is None or found >= choice.at_least) and (choice.below is None or found < choice.below)


def order_of(step: Step, seed: int) -> list[str]:
    """The names of the choices in the order in which they are shown: shuffled, but constant within a run."""
    names = [choice.value for choice in choices_of(step)]
    random.Random(f"{seed}/{step.id}").shuffle(names)
    return names


def tags_of(exercise: Exercise) -> set[str]:
    """The misconceptions that the questions of a lesson offer."""
    transfer = exercise.transfer.choices if exercise.transfer else []
    offered: list[Choice | TransferChoice] = [*transfer, *(one for step in exercise.steps for one in choices_of(step))]
    return {choice.tag for choice in offered if choice.tag}


def transfer_order(transfer: Transfer, seed: int) -> list[int]:
    """The places of the choices of a transfer in the order in which they are shown: shuffled, but constant within a
    run.
    """
    places = list(range(len(transfer.choices)))
    random.Random(f"{seed}/transfer").shuffle(places)
    return places


def choice_texts(step: Step, progress: Progress, language: str) -> dict[str, str]:
    """Texts of the choices of a question, and of the outcome if it is none of them."""
    asks, written = asked_by(step), {}
    for choice in choices_of(step):
        meaning = progress.meanings.get(choice.value)
        if choice.says is not None:
            written[choice.value] = choice.says.in_language(language)
        elif meaning is not None and choice.word is None:
            written[choice.value] = _written(asks, meaning, language)
    outcome = progress.given and progress.given.outcome
    if outcome and outcome not in [choice.value for choice in choices_of(step)]:
        written[outcome] = _written(asks, int(outcome) if outcome.lstrip("-").isdigit() else outcome, language)
    return written


def _written(asks: Quantity, value: int | str, language: str) -> str:
    return render(text("quantity.value", value=shown(asks, value)), language)


def choice_of(step: Step, choice: str | None) -> str:
    """The choice of this name. Raises Refusal if the step has none."""
    values = [one.value for one in choices_of(step)]
    if choice not in values:
        raise Refusal("refusal.invalid_choice", choice=str(choice), choices=", ".join(values))
    return choice


def number_of(value: str | None) -> int:
    """The number that was typed; for a broker also "broker 3" and "b3". Raises Refusal."""
    words = (value or "").strip()
    found = _NUMBER.fullmatch(words)
    if len(words) > MAX_ANSWER_LENGTH or found is None:
        raise Refusal("refusal.not_a_number", value=words[:MAX_ANSWER_LENGTH])
    return int(found[1])


def found_at(step: Step, moment: Moment, found: int | str, at_us: int, seq: int) -> Checked:
    """The value of what a question asked about, at an instant."""
    asks = asked_by(step)
    value = text("quantity.value", value=shown(asks, found))
    return Checked(at_us, text("goal.outcome", offset=quantity_text(moment, asks), found=value).code, seq)


def awaited(prediction: Prediction, tally: Tally, at_us: int) -> Text:
    """What a locked-in prediction still waits for."""
    limit_ms = prediction.since_limit_ms
    is_late = tally.awaits_since and limit_ms is not None and at_us >= tally.locked_us + limit_ms * 1000
    if is_late and limit_ms is not None and prediction.since is not None:
        return text(SINCE_MISSING, s=limit_ms // 1000, what=prediction.since.says())
    return text("goal.outcome_in_flight") if isinstance(prediction.after, RpcArrives) else text("goal.outcome_pending")


def answer_asked(progress: Progress) -> Text:
    """What a step with a question waits for."""
    given = progress.given
    return text("goal.answer") if given is None else text("goal.wrong_answer", answer=given.choice)


def check_confidence(confidence: float | None, choices: int) -> None:
    """Raises Refusal for a confidence that is not possible with this number of choices."""
    if confidence is not None and not is_stop(confidence, choices):
        raise Refusal("refusal.invalid_confidence", confidence=confidence)
