"""The data of a lesson for pages: its entry in lists, and the frame of its progress with the visible texts."""

from typing import Any

import msgspec

from broker_core.texts import Text, render, text
from lab.exercises.happenings import RpcArrives
from lab.exercises.lesson import Exercise, RunSettings, Step, Wrong
from lab.exercises.progress import Progress, State
from lab.exercises.questions import SINCE_MISSING, choice_texts, choices_of, order_of, transfer_order
from lab.exercises.setup import needs_new_run


def listed(exercise: Exercise) -> dict[str, Any]:
    """A lesson in a list. `is_once`: each attempt needs a run of its own."""
    content: dict[str, Any] = msgspec.to_builtins(
        {
            "slug": exercise.slug,
            "number": exercise.number,
            "minutes": exercise.minutes,
            "era": exercise.era,
            "is_once": needs_new_run(exercise),
            "has_own_cluster": exercise.run != RunSettings(),
            "has_terms": bool(exercise.terms),
            "partition": exercise.partition,
            "title": exercise.title,
        }
    )
    return content


def lesson_frame(
    exercise: Exercise,
    state: State,
    why_not: Text,
    wrong: Wrong | None,
    language: str,
    *,
    is_masked: bool,
    is_restarted: bool,
    waits: bool,
) -> dict[str, Any]:
    """The `exercise` frame, in one language.

    It contains visible texts only: a step once it has opened, a hint once it was requested, the reasons of choices once
    they are known, and the debrief with its question after the last step.
    """
    active = next((step for step, progress in state.steps.items() if progress.phase == "active"), "")
    helpful = exercise.hints_for(active)
    is_finished = all(progress.phase == "done" for progress in state.steps.values())
    return {
        "k": "exercise",
        "slug": exercise.slug,
        "brief": exercise.brief.in_language(language),
        "steps": [_step_frame(exercise, step, state, why_not, wrong, language) for step in exercise.steps],
        "hints": [exercise.hints[place].in_language(language) for place in helpful if place in state.hints],
        "hints_in_all": len(helpful),
        "masked": is_masked,
        "finished": is_finished,
        "restarted": is_restarted,
        "waits": waits,
        "debrief": _debrief(exercise, state, language) if is_finished else None,
    }


def _step_frame(
    exercise: Exercise, step: Step, state: State, why_not: Text, wrong: Wrong | None, language: str
) -> dict[str, Any]:
    progress = state.steps[step.id]
    if progress.phase == "open":
        return {"state": progress.phase}
    checked, is_active = progress.checked, progress.phase == "active"
    given, said = progress.given, choice_texts(step, progress, language)
    return {
        "id": step.id,
        "state": progress.phase,
        "kind": step.kind,
        "part": _part_frame(exercise, step, language),
        "text": step.text.in_language(language),
        "choices": _choices(step, state.seed, language),
        "makes_step": step.prediction is not None and isinstance(step.prediction.after, RpcArrives),
        "checked": checked and {"at_us": checked.at_us, "seq": checked.seq, "detail": render(checked.detail, language)},
        "skipped": progress.skipped,
        "why_not": render(_with_choice(why_not, said), language) if is_active else "",
        "wrong": _wrong(why_not, wrong, language) if is_active else "",
        "given": given and msgspec.to_builtins(given),
        "said": said,
        "reasons": _reasons(step, progress, language),
        "freeze": _freeze_frame(step, progress, language),
    }


def _with_choice(why_not: Text, said: dict[str, str]) -> Text:
    """A message about the given answer with the choice's text for its name."""
    answer = str(why_not.values.get("answer", ""))
    return text(why_not.id, answer=said[answer]) if answer in said else why_not


def _wrong(why_not: Text, wrong: Wrong | None, language: str) -> str:
    """What keeps the learner from completing the active step; empty while nothing does."""
    if wrong is not None:
        return wrong.text.in_language(language)
    return render(why_not, language) if why_not.id == SINCE_MISSING else ""


def _part_frame(exercise: Exercise, step: Step, language: str) -> dict[str, Any] | None:
    """The part that begins with a step."""
    if len(exercise.parts) < 2:
        return None
    for number, part in enumerate(exercise.parts, 1):
        if part.step == step.id:
            return {"number": number, "minutes": part.minutes, "title": part.title.in_language(language)}
    return None


def _choices(step: Step, seed: int, language: str) -> list[dict[str, Any]]:
    """The choices of a question in the order in which they are shown."""
    named = {choice.value: choice for choice in choices_of(step)}
    return [
        {"value": name, "note": "" if (note := named[name].note) is None else note.in_language(language)}
        for name in order_of(step, seed)
    ]


def _reasons(step: Step, progress: Progress, language: str) -> dict[str, str]:
    """The reasons of the chosen answer and of the outcome, once that is known; for an answer only of the chosen one."""
    given, reasons = progress.given, dict[str, str]()
    if given is None:
        return reasons
    explained: set[str | None] = {given.choice, given.outcome} if given.outcome is not None else set()
    if step.answer is not None:
        explained = {given.choice}
        if given.outcome is not None and step.answer.reason is not None:
            reasons[""] = step.answer.reason.in_language(language)
    for choice in choices_of(step):
        if choice.value in explained and choice.reason is not None:
            reasons[choice.value] = choice.reason.in_language(language)
    return reasons


def _freeze_frame(step: Step, progress: Progress, language: str) -> dict[str, Any] | None:
    if step.freeze is None or progress.frozen is None:
        return None
    at_us, seq = progress.frozen.at_us, progress.frozen.seq
    return {"at_us": at_us, "seq": seq, "screen": step.freeze.screen, "text": step.freeze.text.in_language(language)}


def _debrief(exercise: Exercise, state: State, language: str) -> dict[str, Any]:
    """What follows the last step. `chain`: the event that it explains, and `via` the event at which its chain
    continues; 0 for none.
    """
    against, chain = exercise.against, exercise.chain
    return {
        "text": exercise.debrief.in_language(language),
        "concept": exercise.teaches.in_language(language),
        "against": against
        and {
            "quote": against.quote,
            "english": against.english if language == "en" else "",
            "text": against.text.in_language(language),
        },
        "chain": _ends(exercise, state.chain),
        "via": _ends(exercise, state.via),
        "chain_title": "" if chain is None else chain.text.in_language(language),
        "transfer": _transfer_frame(exercise, state, language),
    }


def _ends(exercise: Exercise, of_first_and_last: tuple[int, int]) -> int:
    return of_first_and_last[0 if exercise.chain is not None and exercise.chain.first else 1]


def _transfer_frame(exercise: Exercise, state: State, language: str) -> dict[str, Any] | None:
    """The question in another setting; and after the answer which choice is right, and why.

    Choices are identified by their place in the lesson; they are shown in another order.
    """
    transfer, chosen = exercise.transfer, state.transfer
    if transfer is None:
        return None
    right = next(place for place, one in enumerate(transfer.choices) if one.right)
    known = () if chosen is None else sorted({chosen, right})
    return {
        "text": transfer.text.in_language(language),
        "choices": [
            {"place": place, "text": transfer.choices[place].text.in_language(language)}
            for place in transfer_order(transfer, state.seed)
        ],
        "choice": chosen,
        "right": None if chosen is None else right,
        "reasons": [transfer.choices[place].reason.in_language(language) for place in known],
    }
