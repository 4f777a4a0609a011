// The questions of a lesson: predictions, which are locked in with how sure one is, and answers, which one finds by looking.
import { nextChoice } from "../kit/choices.js";
import { html, nothing } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { inline, markdown } from "../kit/words.js";
import { answer, chosen, chosenIn, lockIn, refusedAnswer, stopsOf } from "../store/lesson.js";

/** A number, or a name of Kafka's such as UNKNOWN_MEMBER_ID. */
const ONE_WORD = /^(-?[\d.]+|[A-Z_]+)$/;

/** @import { TemplateResult } from "lit" */
/** @import { Choice, Given, StepFrame } from "../store/state.js" */

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
  const words = step.said[value] ?? value;
  return html`<button class="opt ${happened ? "right" : ""}" data-takes=${isClosed ? nothing : "answer"} role="radio"
      data-value=${value} ?disabled=${isClosed}
      aria-checked=${value === taken} tabindex=${value === taken || (!taken && place === 0) ? 0 : -1} @click=${() => pick(step, value)}>
      <span class="r"></span><span class="value ${ONE_WORD.test(words) ? "mono" : ""}">${inline(words)}</span>
      <em>${inline(note)}</em>${happened ? html`<span class="tag ok">${t("exercise.happened")}</span>` : ""}</button>
    ${reason ? html`<div class="reason ${happened ? "right" : ""}">${markdown(reason)}</div>` : ""}`;
}

/** @param {StepFrame} step @param {boolean} isClosed */
function options(step, isClosed) {
  const { choices, given } = step;
  const taken = (isClosed && given?.choice) || chosenIn(step).value;
  /** @param {KeyboardEvent} event */
  const walk = (event) => {
    const next = nextChoice(choices.map(({ value }) => value), taken, event.key);
    if (next === undefined || isClosed) return;
    event.preventDefault();
    pick(step, next);
    const group = /** @type {HTMLElement} */ (event.currentTarget);
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (group.querySelector(".opt[aria-checked=true]"))?.focus());
  };
  return html`<div class="pred" role="radiogroup" aria-label=${t("exercise.your_prediction")} @keydown=${walk}>
    ${choices.map((one, place) => option(step, one, { place, taken, given, isClosed }))}</div>`;
}

/** The result of a prediction. @param {Given} given @param {StepFrame["said"]} said @param {boolean} makesStep */
export function verdict({ choice, outcome }, said, makesStep) {
  if (!choice) return outcome ? t("exercise.outcome", { outcome: said[outcome] ?? outcome }) : t("exercise.no_prediction");
  if (!outcome) return t(makesStep ? "exercise.locked" : "exercise.locked_only");
  const spoken = { outcome: said[outcome] ?? outcome, choice: said[choice] ?? choice };
  return t(outcome === choice ? "exercise.as_predicted" : "exercise.not_predicted", spoken);
}

/** How sure, and the button that locks in. @param {StepFrame} step */
function sure(step) {
  const mine = chosenIn(step);
  return html`<div class="conf" role="radiogroup" aria-label=${t("exercise.confidence")}>
      <span>${t("exercise.confidence")}</span>
      <div class="seg" data-takes="answer">${stopsOf(step.choices.length).map((stop, place) => html`<button role="radio"
        aria-checked=${stop === mine.confidence} @click=${() => (chosen.value = { ...chosenIn(step), confidence: stop })}>
        ${place ? `${Math.round(stop * 100)} %` : t("exercise.guess")}</button>`)}</div></div>
    <div class="row"><button class="btn pri" data-takes="answer" ?disabled=${!mine.value || !mine.confidence}
      @click=${lockIn}>${t(step.makes_step ? "exercise.lock_in" : "exercise.lock_in_only")}</button><kbd>⏎</kbd></div>`;
}

/** The prediction of a step. @param {StepFrame} step @returns {TemplateResult} */
export function predictionOf(step) {
  const { given, said, makes_step: makesStep } = step;
  return html`${options(step, Boolean(given))}
    ${given ? html`<p class="verdict">${verdict(given, said, makesStep)}</p>` : sure(step)}`;
}

/** The question of a step. @param {StepFrame} step @returns {TemplateResult} */
export function answerOf(step) {
  const { choices, given } = step;
  const isRight = Boolean(given?.outcome);
  const refused = refusedAnswer.value.step === step.id ? refusedAnswer.value.said : "";
  const isWrong = given && !isRight && step.state === "active";
  const after = html`
    ${refused || isWrong ? html`<p class="verdict" role=${refused ? "alert" : nothing}>${refused || step.why_not}</p>` : ""}
    ${isRight && step.reasons[""] ? html`<div class="reason right">${markdown(step.reasons[""])}</div>` : ""}`;
  if (choices.length) return html`${options(step, isRight)}
    ${isRight ? "" : html`<div class="row"><button class="btn pri" data-takes="answer" ?disabled=${!chosenIn(step).value}
      @click=${() => answer(step.id, chosenIn(step).value)}>${t("exercise.check")}</button></div>`}${after}`;
  if (isRight) return html`<p class="verdict">${given?.choice
    ? t("exercise.answer_right", { answer: given.choice }) : t("exercise.outcome", { outcome: given?.outcome ?? "" })}</p>${after}`;
  /** @param {SubmitEvent} event */
  const submit = (event) => {
    event.preventDefault();
    const field = /** @type {HTMLFormElement} */ (event.currentTarget).elements.namedItem("answer");
    if (field instanceof HTMLInputElement && field.value.trim()) answer(step.id, field.value);
  };
  return html`<form class="row answer" data-takes="answer" @submit=${submit}><input name="answer" class="mono"
      inputmode="numeric" autocomplete="off"
      maxlength="20" aria-label=${t("exercise.your_answer")} placeholder=${t("exercise.your_answer")}>
    <button class="btn pri">${t("exercise.check")}</button></form>${after}`;
}
