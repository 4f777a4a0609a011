// The current lesson of the class. Staff start the next one, or any other of the course, in new labs for everyone.
import { HwElement, html } from "../kit/element.js";
import { onValue } from "../kit/events.js";
import { t } from "../kit/i18n.js";
import { chaptersFor, firstLesson, lessonAfter, lessonName } from "./lessons.js";
import "./refusal.js";
import { act, tree } from "./store.js";

class HwClassLesson extends HwElement {
  static properties = { chosen: { state: true }, beginning: { state: true } };

  constructor() {
    super();
    /** The lesson in the dialog; empty while it is closed. */
    this.chosen = "";
    this.beginning = false;
  }

  updated() {
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
  }

  /** @param {SubmitEvent} event */
  async #begin(event) {
    event.preventDefault();
    this.beginning = true;
    const done = await act({ op: "begin_lesson", lesson: this.chosen, after: tree.peek().class?.handout ?? 1 });
    this.beginning = false;
    if (done) this.chosen = "";
  }

  #dialog() {
    if (!this.chosen) return "";
    const at = tree.value.class?.chapter ?? "";
    return html`<dialog class="begin-lesson" aria-labelledby="begin-lesson" @close=${() => (this.chosen = "")}>
      <form @submit=${this.#begin}><header><h2 id="begin-lesson">${t("board.lesson.begin_title")}</h2></header>
        <hw-class-refusal></hw-class-refusal>
        <label class="field">${t("board.lesson.choose")}<select name="lesson" ?disabled=${this.beginning}
          @change=${onValue((slug) => (this.chosen = slug))}>${chaptersFor(at).map(({ title, lessons }) => html`<optgroup
            label=${title}>${lessons.map(({ slug }) => html`<option value=${slug} ?selected=${slug === this.chosen}>${
              lessonName(slug)}</option>`)}</optgroup>`)}</select></label>
        <p>${t("board.lesson.confirm")}</p>
        ${this.chosen === at ? html`<p class="dim">${t("board.lesson.again")}</p>` : ""}
        <p class="dim">${t("board.lesson.reset")}</p>
        <div class="button-row">
          <button type="button" class="btn" ?disabled=${this.beginning} @click=${() => (this.chosen = "")}>${t("dialog.cancel")}</button>
          <button class="btn pri" ?disabled=${this.beginning}>${t(this.beginning ? "board.lesson.beginning"
            : "board.lesson.begin")}</button>
        </div>
      </form></dialog>`;
  }

  render() {
    const { class: info } = tree.value;
    if (!info || info.ended || !firstLesson()) return "";
    const next = lessonAfter(info.chapter);
    return html`<b>${t("board.lesson.title")}</b>${info.chapter ? html`<span class="lesson-name">${lessonName(info.chapter)}</span>`
        : html`<span class="dim">${t("board.lesson.none")}</span>`}<span class="spacer"></span>
      ${next ? html`<button class="btn lesson-name" @click=${() => (this.chosen = next)}>${t("board.lesson.next",
        { title: lessonName(next) })}</button>` : ""}
      <button class="btn" @click=${() => (this.chosen = next || info.chapter || firstLesson())}>${t(info.chapter ? "board.lesson.other"
        : "board.lesson.first")}</button>${this.#dialog()}`;
  }
}
customElements.define("hw-class-lesson", HwClassLesson);
