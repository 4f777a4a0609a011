// The poll of staff: make one, open it, let the class discuss, ask again, show the split, settle it by the lab.
import { HwElement, html } from "../kit/element.js";
import { language, t } from "../kit/i18n.js";
import { lessonName } from "./lessons.js";
import { act, classSlug, clockText, currentPoll, learners, now_us, tree } from "./store.js";
import { answersOf, outcomeOf, splitOf } from "./poll_result.js";
import { hasPicture } from "./thing_field.js";

/** @import { Poll } from "../../core/classroom/class.d.ts" */

const MAX_CHOICES = 6;
const FORMS = ["choice", "number", "point", "prediction"];
const PROPOSALS = "poll-conditions";

class HwPollPanel extends HwElement {
  static properties = { form: { state: true }, choices: { state: true }, proposals: { state: true } };

  constructor() {
    super();
    /** @type {string} */
    this.form = "choice";
    this.choices = 2;
    /** Conditions of the lab that leads. @type {string[]} */
    this.proposals = [];
  }

  /** @param {Event} event */
  async #propose(event) {
    const lead = tree.value.lead?.lab;
    if (!lead || !(/** @type {HTMLDetailsElement} */ (event.target).open)) return;
    const found = await fetch(`/api/runs/${lead}/pauses.json`).catch(() => null);
    if (found?.ok) this.proposals = await found.json();
  }

  /** @param {SubmitEvent} event */
  async #make(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const data = new FormData(form);
    const choices = data.getAll("choice").map(String).map((text) => text.trim()).filter(Boolean);
    /** @param {string} name */
    const given = (name) => String(data.get(name) ?? "").trim();
    const holds = data.getAll("holds").map(String).map((text) => text.trim());
    const isSettled = holds.some(Boolean) || given("asks") !== "";
    const done = await act({
      op: "make_poll", form: this.form, text: String(data.get("text")).trim(), lang: language, choices: this.form === "choice" ? choices
        : [],
      anonymous: data.has("anonymous"), asks_sure: data.has("sure"), right: given("right"),
      step: this.form === "prediction" ? Number(data.get("step")) : 0,
      ...(isSettled ? { holds, asks: given("asks"), when: given("when"), within_s: Number(data.get("within")) || 0 } : {}),
    });
    if (done) form.reset();
  }

  /** How the leading lab settles it; if empty, staff set the outcome. */
  #byLab() {
    if (this.form === "prediction") return html`<p class="dim">${t("board.poll.by_lesson")}</p>`;
    if (this.form === "point") return "";
    /** @param {string} name @param {string} label */
    const field = (name, label) => html`<label class="field">${label}<input class="mono" name=${name} type="text" maxlength="200"
      autocomplete="off" spellcheck="false" list=${PROPOSALS} /></label>`;
    return html`<details @toggle=${this.#propose}><summary>${t("board.poll.settle_by_lab")}</summary>
      <p class="dim">${t(this.form === "choice" ? "board.poll.settle_choice" : "board.poll.settle_number")}</p>
      ${this.form === "choice"
        ? Array.from({ length: this.choices }, (_, index) => field("holds", t("board.poll.holds", { n: index + 1 })))
        : field("asks", t("board.poll.asks"))}
      ${field("when", t("board.poll.when"))}
      <label class="field">${t("board.poll.within")}<input name="within" type="number" min="0" max="3600" value="0" /></label>
      <datalist id=${PROPOSALS}>${this.proposals.map((one) => html`<option value=${one}></option>`)}</datalist></details>`;
  }

  #maker() {
    if (this.form === "prediction") return this.#form("");
    return this.#form(this.form === "choice"
      ? html`<label class="field">${t("board.poll.right")}<select name="right"><option value="">${t("board.poll.not_known")}</option>
          ${Array.from({ length: this.choices }, (_, index) => html`<option value=${index}>${index + 1}</option>`)}</select></label>`
      : this.form === "point" ? html`<hw-thing-field name="right" label=${t("board.poll.right")} optional></hw-thing-field>`
        : html`<label class="field">${t("board.poll.right")}<input name="right" type="text" inputmode="numeric" maxlength="20" /></label>`);
  }

  /** @param {unknown} right */
  #form(right) {
    return html`<details class="make-poll"><summary>${t("board.poll.new")}</summary>
      <form @submit=${this.#make}>
        <label class="field">${t("board.poll.kind")}<select name="form" .value=${this.form}
          @change=${(/** @type {Event} */ event) => (this.form = /** @type {HTMLSelectElement} */ (event.target).value)}>
          ${FORMS.map((form) => html`<option value=${form}
            ?selected=${form === this.form}>${t(`board.poll.form.${form}`)}</option>`)}</select></label>
        <label class="field">${t("board.poll.question")}<textarea name="text" rows="2" maxlength="500"
          ?required=${this.form !== "prediction"}></textarea></label>
        ${this.form === "prediction" ? html`<label class="field">${t("board.poll.step")}<input name="step" type="number" min="1"
          max=${tree.value.class?.steps || 1} value=${tree.value.pace || 1} /></label>` : ""}
        ${this.form === "choice" ? html`<fieldset><legend>${t("board.poll.choices")}</legend>
          ${Array.from({ length: this.choices }, (_, index) => html`<input name="choice" type="text" maxlength="200" required
            aria-label=${t("board.poll.choice", { n: index + 1 })} />`)}
          <button type="button" class="btn small" ?disabled=${this.choices >= MAX_CHOICES}
            @click=${() => this.choices++}>${t("board.poll.more")}</button></fieldset>` : ""}
        ${right}${this.#byLab()}
        <label class="check"><input type="checkbox" name="sure" checked />${t("board.poll.asks_sure")}</label>
        <label class="check"><input type="checkbox" name="anonymous" checked />${t("board.poll.anonymous")}</label>
        <button class="btn small pri">${t("board.poll.make")}</button>
      </form></details>`;
  }

  /** @param {number} poll @param {Poll} of */
  #buttons(poll, of) {
    /** @param {string} op @param {string} key @param {object} [more] */
    const button = (op, key, more = {}) => html`<button class="btn small" @click=${() => act({ op, poll, ...more })}>${t(key)}</button>`;
    switch (of.phase) {
      case "made": return html`${button("open_poll", "board.poll.open")}${button("end_poll", "board.poll.drop")}`;
      case "open": return html`${button("close_poll", "board.poll.close")}${of.split_open ? "" : button("open_split",
        "board.poll.see_split")}`;
      case "ended": return "";
    }
    return html`${of.shown ? "" : button("show_split", "board.poll.show_split")}
      ${of.phase === "closed" ? button("discuss", "board.poll.discuss", { seconds: 120 }) : ""}
      ${button("open_poll", "board.poll.again")}${button("end_poll", "board.poll.end")}`;
  }

  /** Staff set the outcome. @param {number} poll @param {SubmitEvent} event */
  #reveal(poll, event) {
    event.preventDefault();
    const outcome = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("outcome")).trim();
    const at = tree.value.lead_lab;
    void act({ op: "reveal", poll, outcome, lab: at?.lab ?? "", seq: at?.seq ?? 0 });
  }

  /** The lab that leads plays on until it has the answer. @param {number} poll @param {Poll} of */
  #lab(poll, of) {
    if (of.settling) return html`<button class="btn small" @click=${() => act({ op: "end_settling", poll })}>${
      t("board.poll.stop_settling")}</button>`;
    if (!of.by_lab || of.outcome) return "";
    return html`<button class="btn small pri" @click=${() => act({ op: "settle_poll", poll })}>${t("board.poll.settle")}</button>
      ${["none", "since", "lab"].includes(of.why_not ?? "") ? html`<p class="tag warn">${t(`board.poll.why_not.${of.why_not}`)}</p>` : ""}`;
  }

  /** @param {number} poll @param {Poll} of */
  #settling(poll, of) {
    if (of.phase !== "closed" && of.phase !== "discussed") return "";
    const byHand = html`<form class="reveal" @submit=${(/** @type {SubmitEvent} */ event) => this.#reveal(poll, event)}>
      ${of.form === "point"
        ? html`<hw-thing-field name="outcome" label=${t("board.poll.outcome")} value=${of.right ?? ""}
          .answers=${answersOf(of)}></hw-thing-field>${hasPicture() || !tree.value.lead ? ""
          : html`<a href="/classes/${classSlug.value}/watch/" target="_blank">${t("board.poll.choose_in_lab")}</a>`}`
        : html`<label class="field">${t("board.poll.outcome")}${of.choices.length
        ? html`<select name="outcome">${of.choices.map((choice, index) => html`<option value=${index}>${choice}</option>`)}</select>`
        : html`<input name="outcome" type="text" inputmode="numeric" maxlength="20" required />`}</label>`}
      <button class="btn small">${t("board.poll.reveal")}</button></form>`;
    return html`${this.#lab(poll, of)}${outcomeOf(of)}${of.outcome || of.by_lab
      ? html`<details class="overrule"><summary>${t(of.outcome ? "board.poll.overrule" : "board.poll.by_hand")}</summary>${
        byHand}</details>` : byHand}`;
  }

  /** A poll outlasts its lesson. @param {Poll} of */
  #title({ step, lesson }) {
    if (!step) return t("board.poll.title");
    const isPast = lesson !== tree.value.class?.chapter;
    return isPast ? t("board.poll.step_of", { n: step, lesson: lessonName(lesson) }) : t("board.poll.step_title", { n: step });
  }

  render() {
    const current = currentPoll();
    if (!current) return html`<h2 class="block-title">${t("board.poll.title")}</h2><p
      class="dim">${t("board.poll.none")}</p>${tree.value.class?.ended ? "" : this.#maker()}`;
    const [poll, of] = current;
    const here = learners().length;
    return html`<h2 class="block-title">${this.#title(of)}
        <span class="mono">${t("board.poll.answered", { n: of.votes ?? 0, of: here })}</span></h2>
      <p class="question" lang=${of.lang}>${of.text}</p>
      <p class="row"><span class="tag">${t(`board.poll.phase.${of.phase}`)}</span>${of.round > 1 ? html`<span
        class="tag">${t("board.poll.round", { n: of.round })}</span>` : ""}
        ${of.until_us > now_us.value ? html`<span class="tag warn mono">${clockText(of.until_us - now_us.value)}</span>` : ""}</p>
      ${of.phase === "open" && of.anonymous ? html`<p class="dim">${t("board.poll.counted_later")}</p>` : ""}
      ${splitOf(of)}
      ${of.advice ? html`<p class="advice">${t(`board.poll.advice.${of.advice}`)}</p>` : ""}
      ${tree.value.class?.ended ? outcomeOf(of)
        : html`<div class="button-row">${this.#buttons(poll, of)}</div>${this.#settling(poll, of)}`}`;
  }
}
customElements.define("hw-poll-panel", HwPollPanel);
