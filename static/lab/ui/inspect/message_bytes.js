// The bytes of a message, each with the field that it belongs to: in the inspector's card of the message.
import { fieldAt } from "../../core/bytes/disk.js";
import { fieldsWithin, hueOfField, shortName } from "../../core/bytes/message_bytes.js";
import { request, here } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { onKey } from "../kit/events.js";
import { spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { moment } from "../store/state.js";

/** @import { PropertyValues } from "lit" */
/** @import { Exchanged, Field } from "../../core/bytes/message_bytes.js" */
/** @import { Refusal } from "../../core/refusal.js" */

/** @typedef {Exchanged & { bytes: number[] }} Found */

const ROW = 16;
const PAGE_BYTES = 512;
const DEEPEST = 4;
/** @param {number} number @param {number} digits */
const hex = (number, digits) => number.toString(16).padStart(digits, "0");

class HwMessageBytes extends HwElement {
  static properties = { rpc: {}, found: { state: true }, error: { state: true }, isLoading: { state: true }, at: { state: true } };

  constructor() {
    super();
    this.rpc = "";
    /** @type {Found | null} */
    this.found = null;
    /** @type {Partial<Refusal> | null} */
    this.error = null;
    this.isLoading = false;
    this.at = 0;
  }

  /** @param {PropertyValues} changed */
  willUpdate(changed) {
    if (!changed.has("rpc")) return;
    this.found = this.error = null;
    this.isLoading = false;
    this.at = 0;
  }

  async #load() {
    const { rpc } = this;
    this.isLoading = true;
    try {
      const response = await request(`${here.api}/message?${new URLSearchParams({ rpc, seq: String(moment.peek().seq) })}`);
      /** @type {Exchanged} */
      const found = await response.json();
      const bytes = (found.data.match(/../g) ?? []).map((two) => parseInt(two, 16));
      if (rpc === this.rpc) this.found = { ...found, bytes };
    } catch (refusal) {
      if (rpc === this.rpc) this.error = /** @type {Partial<Refusal>} */ (refusal);
    }
    if (rpc === this.rpc) this.isLoading = false;
    await this.updateComplete;
    this.focusOn(".hex");
  }

  /** @param {KeyboardEvent} event @param {Field[]} fields */
  #walk(event, fields) {
    const now = fieldAt(fields, this.at);
    const places = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: fields.length - 1 };
    const next = new Map(Object.entries(places)).get(event.key);
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (fields[next]) this.at = fields[next].position;
  }

  /** @param {PropertyValues} changed */
  updated(changed) {
    if (changed.has("at")) this.querySelector(".field-row.on")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {Found} found @param {number} at @param {number} now */
  byte({ fields, bytes }, at, now) {
    const field = fieldAt(fields, at);
    return html`<i class="${hueOfField(fields[field])} ${field === now ? "marked" : ""}" title=${fields[field].path}
      @click=${() => (this.at = at)}
      @mouseenter=${() => (this.at = at)}>${hex(bytes[at], 2)}</i>`;
  }

  /** @param {Field} field @param {number} place @param {number} now */
  row(field, place, now) {
    return html`<button class="field-row ${hueOfField(field)} ${place === now ? "on" : ""}" tabindex="-1"
      title="${field.path} · ${field.type} · ${field.value}"
      @click=${() => (this.at = field.position)} @mouseenter=${() => (this.at = field.position)}>
      <i></i><span class="mono depth-${Math.min(field.depth ?? 0, DEEPEST)}">${shortName(field.path) || t("bytes.rest")}</span><span
        class="mono value">${field.value}</span></button>`;
  }

  /** @param {Found} found */
  shown(found) {
    const { api, version, is_real, size, bytes, fields } = found;
    const now = fieldAt(fields, this.at);
    const from = this.at - (this.at % PAGE_BYTES);
    const to = Math.min(from + PAGE_BYTES, bytes.length);
    const rows = Array.from({ length: Math.ceil((to - from) / ROW) }, (_, n) => from + n * ROW);
    /** @param {string} sign @param {string} label @param {number} at @param {boolean} isEnd */
    const turn = (sign, label, at, isEnd) => html`<button class="btn small" ?disabled=${isEnd} aria-label=${label} title=${label}
      @click=${() => (this.at = at)}>${sign}</button>`;
    const { path, type, value, position, length } = fields[now];
    return html`<p class="dim">${t(is_real ? "bytes.real" : "bytes.would")}</p>
      <div class="row tight"><span class="mono">${api} v${version}</span><span class="spacer"></span><span
        class="mono dim">${t("bytes.size", { n: spaced(size) })}</span>
        ${bytes.length > PAGE_BYTES ? html`${turn("‹", t("file.previous"), from - PAGE_BYTES, from === 0)}${turn("›", t("file.next"), to,
          to >= bytes.length)}` : ""}</div>
      <div class="hex" tabindex="0" role="group" aria-label=${t("bytes.label")} aria-describedby="message-field"
        @keydown=${onKey((event) => this.#walk(event, fields))}>
        ${rows.map((start) => html`<span class="a">${hex(start, 4)}</span><span
          class="b">${Array.from({ length: Math.min(ROW, to - start) }, (_, n) => this.byte(found, start + n, now))}</span>`)}</div>
      ${bytes.length < size ? html`<p class="dim">${t("bytes.cut", { n: spaced(bytes.length) })}</p>` : ""}
      <p class="message-field" id="message-field" role="status"><b class="mono">${path || t("bytes.rest")}</b> <span
        class="mono dim">${type} · ${t("bytes.place", { at: hex(position, 4), n: length })}</span><br />
        <span class="mono">${value}</span></p>
      <div class="message-fields" tabindex="0" aria-label=${t("bytes.fields")}>${fieldsWithin(fields, from, to)
        .map((field) => this.row(field, fields.indexOf(field), now))}</div>`;
  }

  render() {
    if (this.found) return this.shown(this.found);
    return html`<button class="btn small" ?disabled=${this.isLoading}
      @click=${() => this.#load()}>${t(this.isLoading ? "bytes.loading" : "bytes.show")}</button>
      ${this.error ? html`<p class="message bad"><b>${this.error.what}</b><span>${this.error.todo}</span></p>` : ""}`;
  }
}
customElements.define("hw-message-bytes", HwMessageBytes);
