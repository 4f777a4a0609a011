// Bytes as rows of sixteen, with the fields of record batches underlined and named.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { hovered } from "../store/state.js";

/** @import { PropertyValues } from "lit" */
/** @import { DecodedBatch } from "../store/files.js" */

const ROW = 16;

/** Fields of a batch's header by their place from its first byte: name, length, hue (see `.hex` in lab.css). Names are Kafka's. */
/** @type {[string, number, string][]} */
const HEADER = [
  ["baseOffset", 8, "leader"], ["batchLength", 4, "plain"], ["partitionLeaderEpoch", 4, "epoch"], ["magic", 1, "plain"], ["crc", 4, "isr"],
  ["attributes", 2, "plain"], ["lastOffsetDelta", 4, "leader"], ["baseTimestamp", 8, "produce"], ["maxTimestamp", 8, "produce"],
  ["producerId", 8, "control"], ["producerEpoch", 2, "outisr"], ["baseSequence", 4, "group"], ["recordsCount", 4, "plain"],
];

/**
 * @typedef {{ from: number, to: number, name: string, hue: string, record: number | null }} HexField
 */

/**
 * The fields of some batches.
 * @param {Pick<DecodedBatch, "position" | "records">[]} batches
 * @returns {HexField[]} ascending
 */
export function logFields(batches) {
  /** @type {HexField[]} */
  const fields = [];
  for (const batch of batches) {
    let from = batch.position;
    for (const [name, length, hue] of HEADER) {
      fields.push({ from, to: from + length, name, hue, record: null });
      from += length;
    }
    for (const { offset, position, size } of batch.records)
      fields.push({ from: position, to: position + size, name: t("hex.record", { n: offset }), hue: "select", record: offset });
  }
  return fields;
}

/** A zigzag varint: [value, first byte after it]. @param {Uint8Array} data @param {number} at @returns {[number, number]} */
function varint(data, at) {
  let raw = 0;
  let shift = 0;
  for (;;) {
    const byte = data[at++];
    raw += (byte & 127) * 2 ** shift;
    shift += 7;
    if (byte < 128 || byte === undefined) return [raw % 2 ? -(raw + 1) / 2 : raw / 2, at];
  }
}

/**
 * The fields of one record of an uncompressed batch (Kafka's message format v2, "Record").
 * @param {Uint8Array} data its bytes, from its length on; the end may be missing
 * @param {number} from its place in the file
 */
export function recordFields(data, from) {
  /** @type {HexField[]} */
  const fields = [];
  let at = 0;
  /** @param {string} name @param {string} hue @param {number} to */
  const add = (name, hue, to) => {
    if (to > at) fields.push({ from: from + at, to: from + to, name, hue, record: null });
    at = to;
  };
  /** @param {string} name @param {string} hue */
  const number = (name, hue) => {
    const [value, to] = varint(data, at);
    add(name, hue, to);
    return value;
  };
  number("length", "plain");
  add("attributes", "plain", at + 1);
  number("timestampDelta", "produce");
  number("offsetDelta", "leader");
  const keyLength = number("keyLength", "plain");
  add("key", "isr", at + Math.max(0, keyLength));
  const valueLength = number("valueLen", "plain");
  add("value", "select", at + Math.max(0, valueLength));
  number("headersCount", "plain");
  return fields;
}

/** @param {number} byte */
const two = (byte) => byte.toString(16).padStart(2, "0");
/** @param {number} byte */
const readable = (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·");

/** One page of bytes. A record that is pointed at, here or in the picture, is marked in both. */
class HwHex extends HwElement {
  static properties = { data: { attribute: false }, from: { type: Number }, fields: { attribute: false }, focused: { attribute: false },
    replica: {} };

  constructor() {
    super();
    this.data = new Uint8Array();
    this.from = 0;
    /** @type {HexField[]} */
    this.fields = [];
    /** @type {[number, number] | null} */
    this.focused = null;
    this.replica = "";
  }

  /** @param {number} at */
  #field(at) {
    return this.fields.find((field) => at >= field.from && at < field.to);
  }

  /** @param {MouseEvent} event */
  #point(event) {
    const field = this.#field(Number(/** @type {HTMLElement} */ (event.target).dataset.at ?? -1));
    hovered.value = field && field.record !== null ? `${this.replica}:${field.record}` : "";
  }

  /** @param {number} byte @param {number} at */
  byte(byte, at) {
    const field = this.#field(at);
    const isMarked = this.focused && at >= this.focused[0] && at < this.focused[1];
    const isPointed = field && field.record !== null && hovered.value === `${this.replica}:${field.record}`;
    const names = [field?.hue, isMarked && "marked", isPointed && "pointed"].filter(Boolean).join(" ");
    const title = [field?.name, at, readable(byte)].filter((part) => part !== undefined).join(" · ");
    return html`<i class=${names} data-at=${at} title=${title}>${two(byte)}</i>`;
  }

  /** @param {number} start */
  row(start) {
    const bytes = [...this.data.subarray(start - this.from, start - this.from + ROW)];
    return html`<span class="a">${start.toString(16).padStart(4, "0")}</span>
      <span class="b">${bytes.map((byte, place) => this.byte(byte, start + place))}</span>`;
  }

  /** @param {PropertyValues} changed */
  updated(changed) {
    if (changed.has("focused") && this.focused) this.querySelector(".marked")?.scrollIntoView({ block: "nearest" });
  }

  render() {
    const end = this.from + this.data.length;
    const rows = [];
    for (let start = this.from; start < end; start += ROW) rows.push(start);
    const inSight = this.fields.filter(({ from, to }) => to > this.from && from < end);
    const legend = new Map(inSight.map(({ name, hue, record }) => [record === null ? name : t("hex.records"), hue]));
    return html`<div class="hex" @mouseover=${this.#point} @mouseleave=${() => (hovered.value = "")}>
        ${rows.map((start) => this.row(start))}</div>
      <div class="leg">${[...legend].map(([name, hue]) => html`<span><i class=${hue}></i>${name}</span>`)}</div>`;
  }
}
customElements.define("hw-hex", HwHex);
