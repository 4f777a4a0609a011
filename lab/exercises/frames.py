"""What the page gets of a lesson: its texts without the answers, and the frame of its progress."""

from typing import Any

import msgspec

from broker_core.eras import ERAS
from broker_core.texts import Text, render
from lab.exercises.happenings import RpcArrives
from lab.exercises.lesson import Exercise, RunSettings, Step, Wrong
from lab.exercises.progress import Progress, State
from lab.exercises.questions import choices_of, order_of, said


def page_content(exercise: Exercise) -> dict[str, Any]:
    """What the page gets of a lesson: texts and choices, and nothing that says which of them is right. `is_once`: its
    era deletes no topics, so that each attempt needs a run of its own.
    """
    transfer = exercise.transfer
    content: dict[str, Any] = msgspec.to_builtins(
        {
            "slug": exercise.slug,
            "number": exercise.number,
            "minutes": exercise.minutes,
            "era": exercise.era,
            "is_once": ERAS[exercise.era].defaults.get("delete.topic.enable") == "false",
            "has_own_cluster": exercise.run != RunSettings(),
            "partition": exercise.partition,
            "title": exercise.title,
            "brief": exercise.brief,
            "concept": exercise.teaches,
            "against": exercise.against,
            "debrief": exercise.debrief,
            "hints": exercise.hints,
            "parts": exercise.parts,
            "chain": exercise.chain and exercise.chain.text,
            "transfer": transfer and {"text": transfer.text, "choices": [one.text for one in transfer.choices]},
            "steps": [_step_content(step) for step in exercise.steps],
        }
    )
    return content


def _step_content(step: Step) -> dict[str, Any]:
    question = None
    if step.kind != "goals":
        question = {"choices": [{"value": one.value, "note": one.note} for one in choices_of(step)]}
    return {
        "id": step.id,
        "text": step.text,
        "kind": step.kind,
        "prediction": question
        and step.prediction
        and {**question, "steps": isinstance(step.prediction.after, RpcArrives)},
        "answer": question and step.answer and question,
    }


def lesson_frame(
    exercise: Exercise,
    state: State,
    why_not: Text,
    wrong: Wrong | None,
    language: str,
    *,
    is_masked: bool,
    is_restarted: bool,
) -> dict[str, Any]:
    """The `exercise` frame. The causes of wrong choices and of the transfer are in it once they were answered."""
    is_finished = all(progress.phase == "done" for progress in state.steps.values())
    return {
        "k": "exercise",
        "slug": exercise.slug,
        "steps": [_step_frame(step, state, why_not, wrong, language) for step in exercise.steps],
        "hints_shown": state.hints_shown,
        "masked": is_masked,
        "finished": is_finished,
        "restarted": is_restarted,
        "chain": _chain_of(exercise, state) if is_finished else 0,
        "transfer": _transfer_frame(exercise, state, language),
    }


def _step_frame(step: Step, state: State, why_not: Text, wrong: Wrong | None, language: str) -> dict[str, Any]:
    progress = state.steps[step.id]
    checked, is_active = progress.checked, progress.phase == "active"
    given = progress.given
    return {
        "id": step.id,
        "state": progress.phase,
        "checked": checked and {"at_us": checked.at_us, "seq": checked.seq, "detail": render(checked.detail, language)},
        "why_not": render(why_not, language) if is_active else "",
        "wrong": wrong.text.said(language) if is_active and wrong is not None else "",
        "prediction": given and step.prediction and msgspec.to_builtins(given),
        "answer": given and step.answer and msgspec.to_builtins(given),
        "order": order_of(step, state.seed),
        "said": said(step, progress, language),
        "reasons": _reasons(step, progress, language),
        "freeze": _freeze_frame(step, progress, language),
    }


def _reasons(step: Step, progress: Progress, language: str) -> dict[str, str]:
    """The reasons of the choice taken and of the outcome, once that is known; of an answer that of the one taken."""
    given, reasons = progress.given, dict[str, str]()
    if given is None:
        return reasons
    told: set[str | None] = {given.choice, given.outcome} if given.outcome is not None else set()
    if step.answer is not None:
        told = {given.choice}
        if given.outcome is not None and step.answer.reason is not None:
            reasons[""] = step.answer.reason.said(language)
    for choice in choices_of(step):
        if choice.value in told and choice.reason is not None:
            reasons[choice.value] = choice.reason.said(language)
    return reasons


def _freeze_frame(step: Step, progress: Progress, language: str) -> dict[str, Any] | None:
    if step.freeze is None or progress.frozen is None:
        return None
    at_us, seq = progress.frozen.at_us, progress.frozen.seq
    return {"at_us": at_us, "seq": seq, "screen": step.freeze.screen, "text": step.freeze.text.said(language)}


def _chain_of(exercise: Exercise, state: State) -> int:
    if exercise.chain is None:
        return 0
    return state.chain[0] if exercise.chain.first else state.chain[1]


def _transfer_frame(exercise: Exercise, state: State, language: str) -> dict[str, Any] | None:
    transfer, chosen = exercise.transfer, state.transfer
    if transfer is None or chosen is None:
        return None
    right = next(place for place, one in enumerate(transfer.choices) if one.right)
    reasons = [transfer.choices[place].reason.said(language) for place in sorted({chosen, right})]
    return {"choice": chosen, "right": right, "reasons": reasons}
