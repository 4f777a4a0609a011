// Hands and questions, the longest waiting first; each leads to its instant.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { instant } from "../kit/format.js";
import { runOf } from "./followed.js";
import { act, learners, minutes, opened, shownName, tree } from "./store.js";

/** @import { Instant } from "../../core/classroom/class.d.ts" */

/** The page of an instant of a lab. @param {Instant} at */
const addressOf = ({ lab, at_us }) => `/r/${lab}?t=${(at_us / 1e6).toFixed(6)}`;

/**
 * Opens an instant of a learner's lab where the click asks for it: here, or in another tab.
 * @param {string} p the learner @param {Instant} at @param {MouseEvent} event
 */
async function open(p, at, event) {
  if (event.button > 1) return;
  event.preventDefault();
  const wantsTab = event.ctrlKey || event.metaKey || event.shiftKey || event.button === 1;
  // Browsers let a page open a tab only at the click, which is before the class has answered.
  const tab = wantsTab ? window.open("about:blank") : null;
  if (await act({ op: "look", p })) (tab ?? window).location.assign(addressOf(at));
  else tab?.close();
}

/**
 * A link to an instant of a learner's lab. Staff may open it while they look at the lab, which the learner sees. A lab that
 * the learner has left cannot be looked at: its instant is text.
 * @param {string} p the learner @param {Instant} at @param {string} text
 */
export function instantLink(p, at, text) {
  // What everybody is shown needs no look.
  const { lead, stage, people } = tree.value;
  if ([lead?.lab, stage?.shown && stage.lab].some((lab) => lab && runOf(lab) === runOf(at.lab)))
    return html`<a class="at" href=${addressOf(at)}>${text}</a>`;
  if (runOf(people?.[p]?.lab) !== runOf(at.lab))
    return html`<span class="dim">${t("board.in_earlier_lab", { at: instant(at.at_us, 3) })}</span>`;
  const opens = (/** @type {MouseEvent} */ event) => open(p, at, event);
  return html`<a class="at" href=${addressOf(at)} @click=${opens} @auxclick=${opens}>${text}</a>`;
}

class HwHands extends HwElement {
  /** @param {string} p @param {Instant | null | undefined} at */
  #place(p, at) {
    return at?.lab ? instantLink(p, at, t("board.opens_lab_at", { at: instant(at.at_us, 3) })) : "";
  }

  render() {
    const hands = learners().filter(([, person]) => person.hand)
      .sort((a, b) => (a[1].hand?.raised_us ?? 0) - (b[1].hand?.raised_us ?? 0));
    const questions = Object.entries(tree.value.questions ?? {}).filter(([, asked]) => !asked.answered)
      .sort((a, b) => b[1].backers - a[1].backers || a[1].asked_us - b[1].asked_us);
    const answered = Object.values(tree.value.questions ?? {}).filter((asked) => asked.answered).length;
    return html`<h2 class="block-title">${t("board.hands_and_questions")} <span class="mono">${hands.length + questions.length}</span></h2>
      ${hands.length + questions.length ? "" : html`<p class="dim">${t("board.no_questions")}</p>`}
      <ul class="ask-list">${hands.map(([p, person]) => html`<li><span class="sign hand" aria-hidden="true">☝</span><div>
          <button class="link-button" @click=${() => (opened.value = p)}><b><bdi>${shownName(p,
            person.name)}</bdi></b></button> ${t("board.raised_hand")}
          <span class="button-row">${this.#place(p, person.hand)}<button class="btn small" @click=${() => act({ op: "lower_hand",
            p })}>${t("board.lower_hand")}</button></span></div>
        <small>${t("board.min", { n: minutes(person.hand?.raised_us ?? 0) })}</small></li>`)}
      ${questions.map(([number, asked]) => html`<li class=${asked.hidden ? "hidden" : ""}><span class="sign"
        aria-hidden="true">?</span><div>
          ${asked.name || asked.p ? html`<b><bdi>${shownName(asked.p, asked.name)}</bdi></b> ` : ""}<span
            lang=${asked.lang}>${asked.text}</span>
          <span class="button-row">${this.#place(asked.p, asked.at)}<button class="btn small"
            @click=${() => act({ op: "answer", question: Number(number), how: "aloud" })}>${t("board.answered_aloud")}</button>
            <button class="btn small" @click=${() => act({ op: "hide_question", question: Number(number),
              hidden: !asked.hidden })}>${t(asked.hidden ? "board.unhide" : "board.hide")}</button></span></div>
        <small>${asked.backers ? t("board.backers", { n: asked.backers }) : ""} ${t("board.min",
          { n: minutes(asked.asked_us) })}</small></li>`)}</ul>
      ${answered ? html`<p class="dim">${t("board.answered_count", { n: answered })}</p>` : ""}`;
  }
}
customElements.define("hw-hands", HwHands);
