// What follows the last step of a lesson: the causal chain of this run, the explanation, a question in another setting, what is next.
import { html } from "../kit/element.js";
import { instant } from "../kit/format.js";
import { short, t } from "../kit/i18n.js";
import { markdown } from "../kit/words.js";
import { request, here } from "../store/api.js";
import { content, send, stopsOf } from "../store/lesson.js";
import { effect, exercise, signal } from "../store/state.js";
import { seekSeq } from "../store/time.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { TemplateResult } from "lit" */
/** @import { ExerciseFrame, TransferFrame } from "../store/state.js" */
/** @import { Exercise, Transfer } from "../store/exercises.js" */

/** @typedef {{ seq: number, at_us: number, sentence: string }} Cause */

/** The chain of an event, newest first. @type {Signal<{ seq: number, causes: Cause[] }>} */
const chain = signal({ seq: 0, causes: [] });
/** What is chosen in the transfer question, and not locked in yet. @type {Signal<{ choice: string, confidence: number }>} */
const mine = signal({ choice: "", confidence: 0 });

effect(() => {
  const seq = exercise.value?.chain ?? 0;
  if (!seq || chain.peek().seq === seq) return;
  chain.value = { seq, causes: [] };
  request(`${here.api}/chain?seq=${seq}`).then((response) => response.json()).then((causes) => {
    if (chain.peek().seq === seq) chain.value = { seq, causes };
  }).catch(() => {}); // The explanation stands without it.
});

effect(() => {
  if (!exercise.value?.finished || exercise.value.transfer) mine.value = { choice: "", confidence: 0 };
});

/** Why the deciding event happened in this run. */
function causes() {
  const { causes: found } = chain.value;
  if (!found.length) return "";
  return html`<section class="chain"><h3>${content()?.chain?.[short] ?? t("exercise.chain")}</h3>
    <ol>${found.map(({ seq, at_us, sentence }) => html`<li><button title=${t("exercise.go_there")} @click=${() => seekSeq(seq)}>
      <span class="mono">${instant(at_us)}</span> <span>${sentence}</span></button></li>`)}</ol></section>`;
}

/** @param {number} choices how many */
function sure(choices) {
  return html`<div class="conf" role="radiogroup" aria-label=${t("exercise.confidence")}><span>${t("exercise.confidence")}</span>
      <div class="seg">${stopsOf(choices).map((stop, place) => html`<button role="radio" aria-checked=${stop === mine.value.confidence}
        @click=${() => (mine.value = { ...mine.value, confidence: stop })}>
        ${place ? `${Math.round(stop * 100)} %` : t("exercise.guess")}</button>`)}</div></div>
    <div class="row"><button class="btn pri" ?disabled=${!mine.value.choice || !mine.value.confidence}
      @click=${() => send("transfer", mine.value)}>${t("exercise.lock_in_only")}</button></div>`;
}

/** The question in another setting. @param {Transfer} transfer @param {TransferFrame | null} given */
function transferOf({ text, choices }, given) {
  const verdict = given && t(given.choice === given.right ? "exercise.transfer_right" : "exercise.transfer_wrong");
  return html`<section class="transfer prose"><h3>${t("exercise.transfer")}</h3>${markdown(text[short])}
    <div class="pred" role="radiogroup" aria-label=${t("exercise.transfer")}>${choices.map((choice, place) => html`<button
      class="opt text ${given?.right === place ? "right" : ""}" role="radio" ?disabled=${Boolean(given)}
      aria-checked=${given ? given.choice === place : mine.value.choice === String(place)}
      @click=${() => (mine.value = { ...mine.value, choice: String(place) })}><span class="r"></span>
      <span>${markdown(choice[short])}</span></button>`)}</div>
    ${given ? html`<p class="verdict" role="status">${verdict}</p>
      ${given.reasons.map((reason) => html`<div class="reason">${markdown(reason)}</div>`)}` : sure(choices.length)}</section>`;
}

/** What follows the last step. @param {Exercise} texts @param {ExerciseFrame} frame @returns {TemplateResult} */
export function debriefOf(texts, frame) {
  return html`<section class="debrief prose"><h3>${t("exercise.debrief")}</h3>${causes()}${markdown(texts.debrief[short])}</section>
    ${texts.against ? html`<blockquote class="against" lang="zh-CN">${texts.against.quote}</blockquote>
      <div class="prose against-text">${markdown(texts.against.text[short])}</div>` : ""}
    ${texts.transfer ? transferOf(texts.transfer, frame.transfer) : ""}
    <p class="next"><a class="btn" href="/course/${texts.slug}/">${t("exercise.lesson_page")}</a></p>`;
}
