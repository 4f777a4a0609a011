// The bytes of a batch or file, a page at a time, each underlined in the hue of its field. Arrow keys walk from field to field.
import { HwElement, html } from "../../kit/element.js";
import { closest } from "../../kit/events.js";
import { spaced } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { answerOf, signal } from "./client.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { PropertyValues } from "lit" */
/** @import { Api } from "../../../own_files/worker.js" */

/**
 * @typedef {{ what: "hex" | "bytes", id: number, row: number, start: number, end: number }} Bytes
 * @typedef {Awaited<ReturnType<Api["hex"]>>} Page
 * @typedef {Page["fields"][number]} Field
 */

const ROW = 16;
const PAGE = 512;

/** @param {number} byte */
const two = (byte) => byte.toString(16).padStart(2, "0");
/** @param {number} byte */
const readable = (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·");

class HwOwnHex extends HwElement {
  static properties = { of: { attribute: false }, record: { attribute: false }, jump: { attribute: false } };

  /** @type {Signal<Page | null>} */
  #page = signal(null);
  /** @type {Signal<Field | null>} */
  #field = signal(null);
  #asked = "";

  constructor() {
    super();
    /** @type {Bytes} */
    this.of = { what: "bytes", id: 0, row: 0, start: 0, end: 0 };
    /** The offset whose bytes are marked. @type {bigint | null} */
    this.record = null;
    /** The byte to go to. @type {number | null} */
    this.jump = null;
  }

  /** @param {PropertyValues} changed */
  willUpdate(changed) {
    if (changed.has("of")) this.#load(this.of.start);
    if (changed.has("jump") && this.jump !== null) this.#load(this.jump - ((this.jump - this.of.start) % ROW));
  }

  /** @param {number} from */
  async #load(from) {
    const { what, id, row } = this.of;
    const key = `${what}:${id}:${row}:${from}`;
    this.#asked = key;
    const page = await answerOf(what, { id, row, from, length: PAGE });
    if (this.#asked !== key) return;
    this.#field.value = null;
    this.#page.value = page;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const move = new Map([["ArrowRight", 1], ["ArrowDown", 1], ["ArrowLeft", -1], ["ArrowUp", -1]]).get(event.key);
    const { fields } = this.#page.value ?? { fields: [] };
    if (!move || !fields.length) return;
    event.preventDefault();
    const at = fields.findIndex((field) => field === this.#field.value);
    this.#field.value = fields[Math.min(fields.length - 1, Math.max(0, at + move))];
  }

  /** @param {Event} event */
  #point(event) {
    const at = Number(closest(event, "[data-at]")?.dataset.at ?? -1);
    const field = this.#page.value?.fields.find(({ from, to }) => at >= from && at < to);
    if (field) this.#field.value = field;
  }

  /** @param {Page} page @param {number} start */
  row({ from, data, fields }, start) {
    const bytes = [...data.subarray(start - from, start - from + ROW)];
    const cells = bytes.map((byte, place) => {
      const at = start + place;
      const field = fields.find((one) => at >= one.from && at < one.to);
      const isPointed = field && field === this.#field.value;
      const isRecord = field && field.record !== null && field.record === this.record;
      return html`<i class="${field?.hue ?? ""} ${isPointed ? "pointed" : ""} ${isRecord ? "marked" : ""}" data-at=${at}>${two(byte)}</i>`;
    });
    return html`<span class="a">${start.toString(16).padStart(6, "0")}</span><span class="b">${cells}</span>
      <span class="c" aria-hidden="true">${bytes.map(readable).join("")}</span>`;
  }

  render() {
    const page = this.#page.value;
    if (!page) return html`<p class="dim">${t("own.reading")}</p>`;
    const { from, data, fields, position } = page;
    const end = position + page.size;
    const to = from + data.length;
    /** @type {number[]} */
    const rows = [];
    for (let start = from; start < to; start += ROW) rows.push(start);
    const legend = new Map(fields.map(({ name, hue, record }) => [record === null ? name : t("own.record_fields"), hue]));
    const field = this.#field.value;
    return html`<div class="bytes" tabindex="0" role="group" aria-label=${t("own.bytes")} @keydown=${this.#key} @mouseover=${this.#point}>
        ${rows.map((start) => this.row(page, start))}</div>
      ${fields.length ? html`<p class="field-said" role="status">${field
        ? html`<b>${field.name}</b><span class="mono">${t("own.field_at",
          { from: spaced(field.from), n: spaced(field.to - field.from) })}</span>`
        : html`<span class="dim">${t("own.field_hint")}</span>`}</p>` : ""}
      <div class="hues">${[...legend].map(([name, hue]) => html`<span><i class=${hue}></i>${name}</span>`)}</div>
      ${end - position > PAGE ? html`<div class="row">
        <button class="btn small" ?disabled=${from <= position} aria-label=${t("file.previous")}
          @click=${() => this.#load(Math.max(position, from - PAGE))}>‹</button>
        <span class="mono dim">${t("file.page", { from: spaced(from), to: spaced(to), n: spaced(page.size) })}</span>
        <button class="btn small" ?disabled=${to >= end} aria-label=${t("file.next")} @click=${() => this.#load(from + PAGE)}>›</button>
      </div>` : ""}`;
  }
}
customElements.define("hw-own-hex", HwOwnHex);
