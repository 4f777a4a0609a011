// What follows the last step of a lesson: the causal chain of this run, the explanation, a question in another setting, what is next.
import { html, nothing } from "../kit/element.js";
import { instant } from "../kit/format.js";
import { short, t } from "../kit/i18n.js";
import { breakable, inline, markdown } from "../kit/words.js";
import { request, here } from "../store/api.js";
import { exercises } from "../store/exercises.js";
import { send, stopsOf, whoGoesOn } from "../store/lesson.js";
import { effect, exercise, signal } from "../store/state.js";
import { seekSeq } from "../store/time.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { TemplateResult } from "lit" */
/** @import { Exercise } from "../store/exercises.js" */
/** @import { Debrief, TransferFrame } from "../store/state.js" */

/** @typedef {{ seq: number, at_us: number, sentence: string, is_after_gap: boolean }} Cause */

/** The chain of an event, newest first, in one part or in two. @type {Signal<{ seq: number, parts: Cause[][] }>} */
const chain = signal({ seq: 0, parts: [] });
/** What is chosen in the transfer question, and not locked in yet. @type {Signal<{ choice: string, confidence: number }>} */
const mine = signal({ choice: "", confidence: 0 });

effect(() => {
  const { chain: seq = 0, via = 0 } = exercise.value?.debrief ?? {};
  if (!seq || chain.peek().seq === seq) return;
  chain.value = { seq, parts: [] };
  request(`${here.api}/chain?seq=${seq}&via=${via}`).then((response) => response.json()).then((parts) => {
    if (chain.peek().seq === seq) chain.value = { seq, parts };
  }).catch(() => {}); // The explanation is complete without it.
});

effect(() => {
  if (exercise.value?.debrief?.transfer?.choice !== null) mine.value = { choice: "", confidence: 0 };
});

/** Why the deciding event happened in this run. @param {string} title */
function causes(title) {
  const { parts } = chain.value;
  if (!parts.length) return "";
  /** @param {string} key */
  const said = (key) => html`<li class="dim">${t(key)}</li>`;
  return html`<section class="chain"><h3>${inline(title || t("exercise.chain"))}</h3>
    <ol>${parts.map((part, place) => html`${place ? said("exercise.chain_check") : ""}
      ${part.map(({ seq, at_us, sentence, is_after_gap: isAfterGap }) => html`${isAfterGap ? said("exercise.chain_gap") : ""}
      <li><button title=${t("exercise.go_there")} @click=${() => seekSeq(seq)}>
      <span class="mono">${instant(at_us)}</span> <span>${breakable(sentence)}</span></button></li>`)}`)}</ol></section>`;
}

/** @param {number} choices how many */
function sure(choices) {
  return html`<div class="conf" role="radiogroup" aria-label=${t("exercise.confidence")}><span>${t("exercise.confidence")}</span>
      <div class="seg" data-takes="answer">${stopsOf(choices).map((stop, place) => html`<button role="radio"
        aria-checked=${stop === mine.value.confidence}
        @click=${() => (mine.value = { ...mine.value, confidence: stop })}>
        ${place ? `${Math.round(stop * 100)} %` : t("exercise.guess")}</button>`)}</div></div>
    <div class="row"><button class="btn pri" data-takes="answer" ?disabled=${!mine.value.choice || !mine.value.confidence}
      @click=${() => send("transfer", mine.value)}>${t("exercise.lock_in_only")}</button></div>`;
}

/** The question in another setting. @param {TransferFrame} transfer */
function transferOf({ text, choices, choice: taken, right, reasons }) {
  const isGiven = taken !== null;
  const verdict = isGiven && t(taken === right ? "exercise.transfer_right" : "exercise.transfer_wrong");
  return html`<section class="transfer prose"><h3>${t("exercise.transfer")}</h3>${markdown(text)}
    <div class="pred" role="radiogroup" aria-label=${t("exercise.transfer")}>${choices.map(({ place, text: said }) => html`<button
      class="opt text ${right === place ? "right" : ""}" data-takes=${isGiven ? nothing : "answer"} role="radio" ?disabled=${isGiven}
      aria-checked=${isGiven ? taken === place : mine.value.choice === String(place)}
      @click=${() => (mine.value = { ...mine.value, choice: String(place) })}><span class="r"></span>
      <span>${markdown(said)}</span>
      ${right === place ? html`<span class="tag ok">✓ ${t("exercise.right_choice")}</span>` : ""}</button>`)}</div>
    ${isGiven ? html`<p class="verdict">${verdict}</p>
      ${reasons.map((reason) => html`<div class="reason">${markdown(reason)}</div>`)}` : sure(choices.length)}</section>`;
}

/** The next lesson: to be begun, or in a class to be looked at beside it. @param {Exercise} lesson @param {(slug: string) => void} goOn */
function nextOf({ slug, number: n, title }, goOn) {
  const name = t("exercise.next", { n, title: title[short] });
  return whoGoesOn.value === "alone" ? html`<button class="btn pri" @click=${() => goOn(slug)}>${name}</button>`
    : html`<a class="btn" href="/course/${slug}/" target="_blank">${name}</a>`;
}

/**
 * What follows the last step.
 * @param {Exercise} lesson
 * @param {Debrief} debrief
 * @param {(slug: string) => void} goOn starts the next lesson
 * @returns {TemplateResult}
 */
export function debriefOf({ slug, next }, debrief, goOn) {
  const after = exercises.find((one) => one.slug === next);
  const { text, against, chain_title: title, transfer } = debrief;
  const chapter = exercises.find((one) => one.slug === slug)?.number.split(".")[0];
  return html`<section class="debrief prose"><h3>${t("exercise.debrief")}</h3>${causes(title)}${markdown(text)}</section>
    ${against ? html`<blockquote class="against" lang="zh-CN">${against.quote}${
      against.english ? html`<br><span lang="en" class="dim">“${against.english}”</span>` : ""}</blockquote>
      <div class="prose against-text">${markdown(against.text)}</div>` : ""}
    ${transfer ? transferOf(transfer) : ""}
    <div class="next">${after && whoGoesOn.value !== "alone" ? html`<p class="dim">${t(`exercise.next_in.${whoGoesOn.value}`)}</p>` : ""}
      ${after ? nextOf(after, goOn) : ""}
      <a class="btn" href="/course/${slug}/">${t("exercise.lesson_page")}</a>${chapter
        ? html`<a class="btn" href="/studies/#chapter-${chapter}">${t("studies.of_chapter")}</a>` : ""}</div>`;
}
