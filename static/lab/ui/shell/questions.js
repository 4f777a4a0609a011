// The questions of a lesson: predictions, which are locked in with how sure one is, and answers, which one finds by looking.
import { nextChoice } from "../kit/choices.js";
import { html } from "../kit/element.js";
import { short, t } from "../kit/i18n.js";
import { markdown } from "../kit/words.js";
import { answer, chosen, chosenIn, lockIn, stopsOf } from "../store/lesson.js";

/** @import { TemplateResult } from "lit" */
/** @import { Choice, Prediction, Question } from "../store/exercises.js" */
/** @import { Given, StepFrame } from "../store/state.js" */

/** Choices in the order of their names. @param {Choice[]} choices @param {string[]} order */
const inOrder = (choices, order) => order.flatMap((name) => choices.filter(({ value }) => value === name));

/** @param {StepFrame} step @param {string} value */
const pick = (step, value) => (chosen.value = { ...chosenIn(step), value });

/**
 * One choice.
 * @param {StepFrame} step
 * @param {Choice} choice
 * @param {{ place: number, taken: string, given: Given | null, isClosed: boolean }} more
 */
function option(step, { value, note }, { place, taken, given, isClosed }) {
  const happened = given?.outcome === value;
  const reason = step.reasons[value];
  return html`<button class="opt ${happened ? "right" : ""}" role="radio" data-value=${value} ?disabled=${isClosed}
      aria-checked=${value === taken} tabindex=${value === taken || (!taken && place === 0) ? 0 : -1} @click=${() => pick(step, value)}>
      <span class="r"></span><span class="mono">${step.said[value] ?? value}</span>
      <em>${happened && step.said[value] !== undefined ? t("exercise.happened") : note?.[short]}</em></button>
    ${reason ? html`<div class="reason ${happened ? "right" : ""}">${markdown(reason)}</div>` : ""}`;
}

/** @param {StepFrame} step @param {Choice[]} choices @param {Given | null} given @param {boolean} isClosed */
function options(step, choices, given, isClosed) {
  const ordered = inOrder(choices, step.order);
  const taken = (isClosed && given?.choice) || chosenIn(step).value;
  /** @param {KeyboardEvent} event */
  const walk = (event) => {
    const next = nextChoice(ordered.map(({ value }) => value), taken, event.key);
    if (next === undefined || isClosed) return;
    event.preventDefault();
    pick(step, next);
    const group = /** @type {HTMLElement} */ (event.currentTarget);
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (group.querySelector(".opt[aria-checked=true]"))?.focus());
  };
  return html`<div class="pred" role="radiogroup" aria-label=${t("exercise.your_prediction")} @keydown=${walk}>
    ${ordered.map((one, place) => option(step, one, { place, taken, given, isClosed }))}</div>`;
}

/** What became of a prediction. @param {Given} given @param {StepFrame["said"]} said @param {boolean} steps */
function verdict({ choice, outcome }, said, steps) {
  if (!outcome) return t(steps ? "exercise.locked" : "exercise.locked_only");
  const spoken = { outcome: said[outcome] ?? outcome, choice: said[choice] ?? choice };
  return t(outcome === choice ? "exercise.as_predicted" : "exercise.not_predicted", spoken);
}

/** How sure, and the button that locks in. @param {StepFrame} step @param {Prediction} prediction */
function sure(step, { choices, steps }) {
  const mine = chosenIn(step);
  return html`<div class="conf" role="radiogroup" aria-label=${t("exercise.confidence")}>
      <span>${t("exercise.confidence")}</span>
      <div class="seg">${stopsOf(choices.length).map((stop, place) => html`<button role="radio"
        aria-checked=${stop === mine.confidence} @click=${() => (chosen.value = { ...chosenIn(step), confidence: stop })}>
        ${place ? `${Math.round(stop * 100)} %` : t("exercise.guess")}</button>`)}</div></div>
    <div class="row"><button class="btn pri" ?disabled=${!mine.value || !mine.confidence}
      @click=${lockIn}>${t(steps ? "exercise.lock_in" : "exercise.lock_in_only")}</button><kbd>⏎</kbd></div>`;
}

/** The prediction of a step. @param {StepFrame} step @param {Prediction} prediction @returns {TemplateResult} */
export function predictionOf(step, prediction) {
  const given = step.prediction;
  return html`${options(step, prediction.choices, given, Boolean(given))}
    ${given ? html`<p class="verdict" role="status">${verdict(given, step.said, prediction.steps)}</p>` : sure(step, prediction)}`;
}

/** The question of a step. @param {StepFrame} step @param {Question} question @returns {TemplateResult} */
export function answerOf(step, { choices }) {
  const given = step.answer;
  const isRight = Boolean(given?.outcome);
  const after = html`
    ${given && !isRight && step.state === "active" ? html`<p class="verdict" role="status">${step.why_not}</p>` : ""}
    ${isRight && step.reasons[""] ? html`<div class="reason right">${markdown(step.reasons[""])}</div>` : ""}`;
  if (choices.length) return html`${options(step, choices, given, isRight)}
    ${isRight ? "" : html`<div class="row"><button class="btn pri" ?disabled=${!chosenIn(step).value}
      @click=${() => answer(step.id, chosenIn(step).value)}>${t("exercise.check")}</button></div>`}${after}`;
  if (isRight) return html`<p class="verdict" role="status">${t("exercise.answer_right", { answer: given?.choice ?? "" })}</p>${after}`;
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const field = /** @type {HTMLFormElement} */ (event.currentTarget).elements.namedItem("answer");
    if (field instanceof HTMLInputElement && field.value.trim()) answer(step.id, field.value);
  };
  return html`<form class="row answer" @submit=${submit}><input name="answer" class="mono" inputmode="numeric" autocomplete="off"
      maxlength="20" aria-label=${t("exercise.your_answer")} placeholder=${t("exercise.your_answer")}>
    <button class="btn pri">${t("exercise.check")}</button></form>${after}`;
}
