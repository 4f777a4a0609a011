// The class so far as a line: its chapters, now, where to add one, and whether it is on the record.
import { HwElement, html } from "../kit/element.js";
import { language, t } from "../kit/i18n.js";
import { act, clockText, now_us, tree } from "./store.js";

/** The line is as long as the class is expected to take, and longer once it takes longer. */
const MIN_LENGTH_US = 10 * 60e6;

class HwChapters extends HwElement {
  /** @param {SubmitEvent} event */
  async #add(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const text = String(new FormData(form).get("chapter")).trim();
    if (text && await act({ op: "add_chapter", text, lang: language })) form.reset();
  }

  /** @param {boolean | undefined} recording */
  #form(recording) {
    return html`<form class="add-chapter" @submit=${this.#add}><label class="field inline">${t("board.chapter")}<input name="chapter"
      type="text" maxlength="80" required /></label>
      <button class="btn small">${t("board.add_chapter")}</button>
      <button class="btn small" type="button" title=${t("board.record_title")}
        @click=${() => act({ op: "set_recording", on: !recording })}>${recording ? t("board.off_record") : t("board.on_record")}</button>
      ${recording ? "" : html`<span class="tag warn" role="status">${t("board.is_off_record")}</span>`}</form>`;
  }

  render() {
    const { chapters = {}, class: info, recording, staff } = tree.value;
    if (!staff) return "";
    const length_us = Math.max(MIN_LENGTH_US, (info?.minutes ?? 0) * 60e6, now_us.value * 1.05);
    /** @param {number} us */
    const at = (us) => ((100 * us) / length_us).toFixed(2);
    const sorted = Object.values(chapters).sort((a, b) => a.begins_us - b.begins_us);
    const begins = sorted.map((chapter) => chapter.begins_us);
    /** @param {number} begin_us @param {number} index */
    const bar = (begin_us, index) => html`<svg x=${at(begin_us)} y="0" height="10" preserveAspectRatio="none"
      width=${at(Math.max(0, (begins[index + 1] ?? now_us.value) - begin_us - length_us / 500))}><rect class="chapter" width="100%"
      height="10"></rect></svg>`;
    return html`<div class="class-line" role="img" aria-label=${t("board.line", { at: clockText(now_us.value), n: sorted.length })}>
        <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">${begins.map(bar)}
          <svg x=${at(now_us.value)} y="0" width="0.25" height="10"><rect class="now" width="100%" height="10"></rect></svg></svg></div>
      <ol class="chapter-list">${sorted.map((chapter) => html`<li><span class="mono">${clockText(chapter.begins_us)}</span> <span
        lang=${chapter.lang}>${chapter.text}</span></li>`)}
        <li class="now mono">${clockText(now_us.value)}</li></ol>
      ${info?.ended ? "" : this.#form(recording)}`;
  }
}
customElements.define("hw-chapters", HwChapters);
