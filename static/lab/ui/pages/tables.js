// The editor of the tables' page: a question in SQL, its answer, and the line of a mistake.
import { request } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { signal } from "../store/state.js";

/** @import { Signal } from "@preact/signals-core" */

/**
 * @typedef {{ what?: string, expected?: string, todo?: string, line?: string }} Refused `line`: that of a mistake
 * @typedef {string | number | null} Cell
 * @typedef {{ columns: string[], rows: Cell[][], is_cut: boolean, took_ms: number, build: number }} Answer
 */

/** Maximum number of rows shown; the file has all of them. */
const MAX_SHOWN = 500;

/** @type {Signal<Answer | null>} */
const answer = signal(null);
/** @type {Signal<Refused | null>} */
const refused = signal(null);
/** Ends the question in progress; null when there is none. @type {Signal<AbortController | null>} */
const asking = signal(null);

class HwSql extends HwElement {
  /** @returns {HTMLTextAreaElement} */
  get #editor() { return /** @type {HTMLTextAreaElement} */ (this.querySelector("textarea")); }

  /** @param {Event} [event] */
  async #ask(event) {
    event?.preventDefault();
    if (asking.value) return;
    const mine = new AbortController();
    [asking.value, refused.value] = [mine, null];
    try {
      answer.value = await (await request("/api/sql", { query: this.#editor.value }, mine.signal)).json();
    } catch (error) {
      if (!mine.signal.aborted) this.#refuse(error);
    }
    asking.value = null;
  }

  /** @param {unknown} error */
  #refuse(error) {
    if (!(error instanceof Object && "what" in error)) throw error;
    [refused.value, answer.value] = [/** @type {Refused} */ (error), null];
    const line = Number(refused.value.line);
    if (!line) return;
    const lines = this.#editor.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((at, text) => at + text.length + 1, 0);
    this.#editor.focus();
    this.#editor.setSelectionRange(start, start + lines[line - 1].length);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#ask(event);
  }

  /** @param {string} sql */
  #choose(sql) {
    this.#editor.value = sql;
    this.#ask();
  }

  render() {
    /** @type {[string, string][]} */
    const questions = JSON.parse(this.dataset.questions ?? "[]");
    const csrf = this.closest("main")?.dataset.csrf ?? "";
    return html`<form class="sql" method="post" action="/api/sql.csv" @submit=${this.#submit}>
        <input type="hidden" name="csrfmiddlewaretoken" value=${csrf}>
        <textarea class="mono" name="query" rows="8" spellcheck="false" autocapitalize="off" autocomplete="off" required
          aria-label=${t("tables.query")} placeholder="select * from gold.run_summary" @keydown=${this.#key}></textarea>
        <div class="row">
          <button class="btn pri" name="what" value="ask" title="Ctrl Enter" ?disabled=${asking.value !== null}>${t("tables.run")}</button>
          ${asking.value ? html`<button type="button" class="btn" @click=${() => asking.value?.abort()}>${t("tables.cancel")}</button>
            <span class="dim" role="status">${t("tables.asking")}</span>` : ""}
          <span class="spacer"></span>
          <button class="btn" name="what" value="csv">${t("tables.csv")}</button>
        </div>
      </form>
      <details class="questions" ?open=${!answer.value}><summary>${t("tables.questions")}</summary>
        <ol>${questions.map(([title, sql]) => html`<li><button class="link" @click=${() => this.#choose(sql)}>${title}</button></li>`)}</ol>
      </details>
      ${refused.value ? html`<div class="message bad" role="alert"><b>${refused.value.what}</b><span>${refused.value.expected}</span>
        <span>${refused.value.todo}</span></div>` : ""}
      ${answer.value ? this.#answer(answer.value) : ""}`;
  }

  /** The button for the file sends the form; the other one asks here. @param {SubmitEvent} event */
  #submit(event) {
    const by = /** @type {HTMLButtonElement | null} */ (event.submitter);
    if (by?.value !== "csv") this.#ask(event);
  }

  /** @param {Answer} found */
  #answer({ columns, rows, is_cut: isCut, took_ms: took, build }) {
    /** @param {Cell} value */
    const cell = (value) => (value === null ? html`<td class="dim">∅</td>` : html`<td>${value}</td>`);
    return html`<p class="dim" role="status">${t("tables.answer", { n: rows.length, s: (took / 1000).toFixed(1), build })}
        ${isCut ? t("tables.cut") : rows.length > MAX_SHOWN ? t("tables.first_rows", { n: MAX_SHOWN }) : ""}</p>
      <div class="wide answer" tabindex="0" role="region" aria-label=${t("tables.answer_name")}><table>
        <thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${rows.slice(0, MAX_SHOWN).map((row) => html`<tr>${row.map(cell)}</tr>`)}</tbody>
      </table></div>`;
  }
}
customElements.define("hw-sql", HwSql);
