// The lists of instants next to the picture: a click seeks there. Notes and chapters are also written here.
import { instantOf } from "../../../core/replay/class_time.js";
import { HwElement, html } from "../../kit/element.js";
import { onSubmit, onValue } from "../../kit/events.js";
import { t } from "../../kit/i18n.js";
import { clockText } from "../../classroom/store.js";
import { languages } from "./captions.js";
import { addChapter, addNote, found, list, notes, query } from "./instants.js";
import { removeChapter, removeNote, search, showList, write, writes } from "./instants.js";
import { keepInSight } from "./in_sight.js";
import { lines, loadLines } from "./lines.js";
import * as replay from "./store.js";

/** @import { List } from "./instants.js" */
/** @typedef {{ at_us: number, text: string, lang: string, tone: string, tag?: string, remove?: () => unknown }} Row */

const MAX_NOTE = 2000;
const MAX_CHAPTER = 80;

/** The rows of each list, by time. @type {Record<List, () => Row[]>} */
const ROWS = {
  chapters: () => (replay.manifest.value?.chapters ?? []).map(({ chapter, at_us, title, by }) => ({
    at_us, text: title, lang: "", tone: "chapter", tag: by === "proposed" ? t("replay.proposed") : "",
    remove: replay.manifest.value?.can.correct && !replay.manifest.value.live ? () => removeChapter(chapter) : undefined,
  })),
  notes: () => (notes.value ?? []).map(({ id, at_us, text, shared }) => ({
    at_us, text, lang: "", tone: "note", tag: shared ? t("replay.for_class") : "",
    remove: !shared || replay.manifest.value?.can.share_note ? () => removeNote(id) : undefined,
  })),
  events: () => lines.value,
  questions: () => (replay.manifest.value?.questions ?? []).map(({ at_us, text }) => ({
    at_us, text: text || t("replay.text_erased"), lang: "", tone: "question",
  })),
  // Drawn by its own element.
  transcript: () => [],
  found: () => {
    const at_us = instantOf(query.value);
    const rows = (found.value ?? []).map((one) => ({ at_us: one.at_us, text: one.text, lang: one.language, tone: one.kind,
      tag: t(`replay.kind.${one.kind}`) }));
    return at_us === null ? rows : [{ at_us, text: t("replay.go_to", { at: clockText(at_us) }), lang: "", tone: "chapter" }, ...rows];
  },
};

class HwReplayLists extends HwElement {
  updated() {
    // A new form takes the focus once.
    const field = /** @type {HTMLElement | null} */ (this.querySelector(".write:not(.seen) [name='text']"));
    field?.closest(".write")?.classList.add("seen");
    field?.focus();
    if (list.peek() !== "transcript") keepInSight(this);
  }

  /** @param {HTMLFormElement} form */
  async #add(form) {
    const content = new FormData(form);
    const text = String(content.get("text")).trim();
    if (!text) return;
    if (list.peek() === "notes") await addNote(text, content.get("shared") === "on");
    else await addChapter(text);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape") writes.value = null;
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    /** @type {HTMLFormElement} */ (event.currentTarget).requestSubmit();
  }

  #form() {
    const can = replay.manifest.value?.can;
    const isNote = list.value === "notes";
    if (!(isNote ? can?.note : list.value === "chapters" && can?.correct)) return "";
    if (writes.value === null) return html`<button class="btn small" @click=${() => write(isNote ? "notes" : "chapters")}>${isNote
      ? html`${t("replay.add_note")} <kbd>N</kbd>` : t("replay.add_chapter")}</button>`;
    const at = clockText(writes.value);
    const label = t(isNote ? "replay.note_at" : "replay.chapter_at", { at });
    return html`<form class="write" @submit=${onSubmit((form) => void this.#add(form))} @keydown=${this.#key}>
      <label class="field"><span>${label}</span>${isNote
        ? html`<textarea name="text" rows="3" required maxlength=${MAX_NOTE} dir="auto"></textarea>`
        : html`<input name="text" type="text" required maxlength=${MAX_CHAPTER} dir="auto" />`}</label>
      ${isNote && can?.share_note ? html`<label class="check"><input type="checkbox" name="shared" />
        ${t("replay.share_note")}</label>` : ""}
      <div class="row"><button class="btn small" type="button" @click=${() => (writes.value = null)}>${t("dialog.cancel")}</button><button
        class="btn small pri">${t("replay.save")}</button></div></form>`;
  }

  /** @param {Row} row @param {boolean} isNow */
  #row({ at_us, text, lang, tone, tag, remove }, isNow) {
    return html`<li aria-current=${isNow ? "true" : "false"}><button @click=${() => void replay.seek(at_us)}><span
        class="mono">${clockText(at_us)}</span><i data-tone=${tone} aria-hidden="true"></i><span><bdi
        lang=${lang || document.documentElement.lang}>${text}</bdi>${tag ? html` <small class="tag">${tag}</small>` : ""}</span></button>
      ${remove ? html`<button class="remove" title=${t("replay.remove")}
        aria-label="${t("replay.remove")}: ${text}" @click=${remove}>✕</button>` : ""}</li>`;
  }

  render() {
    const known = replay.manifest.value;
    if (!known) return "";
    /** @type {List[]} */
    const lists = ["chapters", ...(known.can.note || known.can.read_notes ? [/** @type {List} */ ("notes")] : []), "events", "questions",
      ...(languages.value.length || (known.can.correct && !known.live) ? [/** @type {List} */ ("transcript")] : [])];
    return html`<header><div class="seg wraps" role="group" aria-label=${t("replay.lists")}>${lists.map((one) => html`<button
        aria-pressed=${list.value === one} @click=${() => {
          showList(one);
          if (one === "events") void loadLines();
        }}>${t(`replay.list.${one}`)}${one === "questions" && known.questions.length
          ? html` <span class="mono">${known.questions.length}</span>` : ""}</button>`)}</div></header>
      <input type="search" class="search" aria-label=${t("replay.search")} placeholder=${t("replay.search_hint")} maxlength="100"
        .value=${query.value} @input=${onValue(search)} />
      ${this.#form()}
      ${list.value === "transcript" ? html`<hw-replay-transcript></hw-replay-transcript>` : this.#rows()}`;
  }

  #rows() {
    const rows = ROWS[list.value]();
    const waits = (list.value === "found" && !found.value) || (list.value === "notes" && !notes.value);
    const now = list.value === "found" ? -1 : rows.findLastIndex(({ at_us }) => at_us <= replay.at_us.value);
    return html`${rows.length ? html`<ol class="instants">${rows.map((row, i) => this.#row(row, i === now))}</ol>`
        : html`<p class="nobody" role="status">${t(waits ? "replay.looks_for" : `replay.none.${list.value}`)}</p>`}`;
  }
}
customElements.define("hw-replay-lists", HwReplayLists);
