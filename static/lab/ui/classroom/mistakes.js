// What the class mixes up: misconceptions behind wrong answers and votes, and wrong states of steps, with how many learners showed
// them. On the board, and on the projector once staff show it; never with a name.
import { effect, signal } from "@preact/signals-core";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { inline } from "../kit/words.js";
import { act, classSlug, learners, minutes, tree } from "./store.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Mistake as MistakeRow } from "../../core/classroom/class.d.ts" */

/** The others are in the analytics of the class. */
const MOST = 5;

/** The sentences of a lesson, in the language of the page. @type {Signal<{ lesson?: string, texts: Record<string, string> }>} */
const said = signal(JSON.parse(document.getElementById("mistake-texts")?.textContent ?? '{ "texts": {} }'));

effect(() => {
  const lesson = tree.value.class?.chapter;
  if (!lesson || lesson === said.peek().lesson || !classSlug.peek()) return;
  // The class has gone on with another lesson.
  said.value = { lesson, texts: {} };
  fetch(`/api/classes/${classSlug.peek()}/mistakes/${lesson}.json`).then((answer) => (answer.ok ? answer.json() : {})).then((texts) => {
    if (said.peek().lesson === lesson) said.value = { lesson, texts };
  }).catch(() => {}); // The tags stay.
});

/** @param {MistakeRow} row @param {number} all how many learners there are */
function rowOf({ what, by, steps, learners: count }, all) {
  const text = said.value.texts[what] ?? what;
  const where = t(steps.length === 1 ? "board.mistakes.step" : "board.mistakes.steps", { n: steps.join(", ") });
  return html`<li><span class="belief">${inline(text)}
      <small>${by === "state" ? t("board.mistakes.state", { where }) : where}</small></span>
    <progress max=${Math.max(all, count, 1)} value=${count} aria-label=${text.replaceAll("`", "")}></progress>
    <span class="mono" title=${t("board.mistakes.learners", { n: count })}>${count}</span></li>`;
}

/** @param {MistakeRow[]} rows @param {number} all */
export const mistakesOf = (rows, all) => html`<ul class="mistakes">${rows.slice(0, MOST).map((row) => rowOf(row, all))}</ul>`;

class HwMistakes extends HwElement {
  render() {
    const { rows = [], shown = false } = tree.value.mistakes ?? {};
    const last_us = Math.max(0, ...rows.map((row) => row.last_us));
    return html`<h2 class="block-title">${t("board.mistakes.title")}
        ${last_us ? html`<span class="mono">${t("board.mistakes.since", { n: minutes(last_us) })}</span>` : ""}</h2>
      ${rows.length ? mistakesOf(rows, learners().length) : html`<p class="dim">${t("board.mistakes.none")}</p>`}
      <div class="button-row">${rows.length || shown ? html`<button class="btn small ${shown ? "on" : ""}" aria-pressed=${shown}
          title=${t("board.mistakes.show_title")} @click=${() => act({ op: "show_mistakes", on: !shown })}>${
          t("board.mistakes.show")}</button>` : ""}
        <a class="btn small" href="/classes/${classSlug.value}/analytics/">${rows.length > MOST
          ? t("board.mistakes.more", { n: rows.length - MOST }) : t("board.mistakes.analytics")}</a></div>`;
  }
}
customElements.define("hw-mistakes", HwMistakes);
