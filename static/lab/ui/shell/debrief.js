// What follows the last step of a lesson: the causal chain of this run, the explanation, a question in another setting, what is next.
import { HwElement, html } from "../kit/element.js";
import { instant } from "../kit/format.js";
import { short, t } from "../kit/i18n.js";
import { markdown } from "../kit/words.js";
import { ask, here } from "../store/api.js";
import { content, send, stopsOf } from "../store/lesson.js";
import { exercise, signal } from "../store/state.js";
import { seekSeq } from "../store/time.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { TransferFrame } from "../store/state.js" */
/** @import { Transfer } from "../store/exercises.js" */

/** @typedef {{ seq: number, at_us: number, sentence: string }} Cause */

class HwDebrief extends HwElement {
  /** The chain of an event, newest first. @type {Signal<{ seq: number, causes: Cause[] }>} */
  #chain = signal({ seq: 0, causes: [] });
  /** @type {Signal<{ choice: string, confidence: number }>} */
  #chosen = signal({ choice: "", confidence: 0 });

  /** @param {number} seq */
  async #load(seq) {
    if (this.#chain.value.seq === seq) return;
    this.#chain.value = { seq, causes: [] };
    const causes = /** @type {Cause[]} */ (await ask(`${here.api}/chain?seq=${seq}`).then((response) => response.json()).catch(() => []));
    if (this.#chain.value.seq === seq) this.#chain.value = { seq, causes };
  }

  chain() {
    const seq = exercise.value?.chain ?? 0;
    if (!seq) return "";
    this.#load(seq);
    const { causes } = this.#chain.value;
    if (!causes.length) return "";
    return html`<section class="chain"><h3>${content()?.chain?.[short] ?? t("exercise.chain")}</h3>
      <ol>${causes.map(({ seq: at, at_us, sentence }) => html`<li><button title=${t("exercise.go_there")} @click=${() => seekSeq(at)}>
        <span class="mono">${instant(at_us)}</span> <span>${sentence}</span></button></li>`)}</ol></section>`;
  }

  /** @param {Transfer} transfer @param {TransferFrame | null} given */
  transfer({ text, choices }, given) {
    const mine = this.#chosen.value;
    const stops = stopsOf(choices.length);
    return html`<section class="transfer prose"><h3>${t("exercise.transfer")}</h3>${markdown(text[short])}
      <div class="pred" role="radiogroup" aria-label=${t("exercise.transfer")}>${choices.map((choice, place) => html`<button
        class="opt text ${given?.right === place ? "right" : ""}" role="radio" ?disabled=${Boolean(given)}
        aria-checked=${given ? given.choice === place : mine.choice === String(place)}
        @click=${() => (this.#chosen.value = { ...mine, choice: String(place) })}><span class="r"></span>
        <span>${markdown(choice[short])}</span></button>`)}</div>
      ${given ? html`<p class="verdict" role="status">${t(given.choice === given.right ? "exercise.transfer_right"
        : "exercise.transfer_wrong")}</p>${given.reasons.map((reason) => html`<div class="reason">${markdown(reason)}</div>`)}`
        : html`<div class="conf" role="radiogroup" aria-label=${t("exercise.confidence")}><span>${t("exercise.confidence")}</span>
          <div class="seg">${stops.map((stop, place) => html`<button role="radio" aria-checked=${stop === mine.confidence}
            @click=${() => (this.#chosen.value = { ...mine, confidence: stop })}>
            ${place ? `${Math.round(stop * 100)} %` : t("exercise.guess")}</button>`)}</div></div>
          <div class="row"><button class="btn pri" ?disabled=${!mine.choice || !mine.confidence}
            @click=${() => send("transfer", mine)}>${t("exercise.lock_in_only")}</button></div>`}</section>`;
  }

  render() {
    const [texts, frame] = [content(), exercise.value];
    if (!texts || !frame?.finished) return "";
    return html`<section class="debrief prose"><h3>${t("exercise.debrief")}</h3>${this.chain()}${markdown(texts.debrief[short])}</section>
      ${texts.against ? html`<blockquote class="against" lang="zh-CN">${texts.against.quote}</blockquote>
        <div class="prose against-text">${markdown(texts.against.text[short])}</div>` : ""}
      ${texts.transfer ? this.transfer(texts.transfer, frame.transfer) : ""}
      <p class="next"><a class="btn" href="/course/${texts.slug}/">${t("exercise.lesson_page")}</a></p>`;
  }
}
customElements.define("hw-debrief", HwDebrief);
