// The right column of the page /inspect/: one batch with its header, its records, and its bytes.
import { HwElement, html, icon } from "../../kit/element.js";
import { onValue } from "../../kit/events.js";
import { bytes, spaced } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { answerOf, call, batch, choose, chosen, marked, meaning, showInLog, signal, state } from "./client.js";
import "./hex.js";
import { hex8, ruleName, sentence, shortName, span, stamp } from "./texts.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Header } from "../../../own_files/batch.js" */
/** @import { Api } from "../../../own_files/worker.js" */
/** @import { Bytes } from "./hex.js" */
/** @import { Fault } from "./texts.js" */

/**
 * @typedef {Awaited<ReturnType<Api["batch"]>>} OpenBatch
 * @typedef {OpenBatch["records"][number]} ShownRecord
 * @typedef {NonNullable<ShownRecord["key"]>} Part a part of a key, a value or a header
 * @typedef {OpenBatch & { id: number, failed?: undefined }} FoundBatch
 * @typedef {{ id: number, row: number, from: number, failed: Fault }} FailedBatch
 * @typedef {{ id: number, kind: string, n: number, offset?: number, position?: number, timestamp?: number, firstOffset?:
 *   bigint, lastOffset?: bigint }} Entry
 *   of an index, with its file
 */

const PAGE = 50;
/** @type {(typeof meaning.value)[]} */
const MEANINGS = ["auto", "plain", "offsets", "transactions"];

/** A broken rule as a message. @param {Fault} fault */
const said = (fault) => html`<div class="message bad"><b>${ruleName(fault.rule)}</b><span>${sentence(fault)}</span></div>`;

/** Whether a checksum is valid, if it was computed. @param {Pick<OpenBatch, "crc" | "computed">} batch */
const checked = ({ crc, computed }) =>
  computed === null ? "" : computed === crc ? html`<b class="fine">✓</b>` : html`<b class="broken">✕ ${hex8(computed)}</b>`;

/** The fields that batches have since magic 2. @param {OpenBatch} found @returns {[string, unknown][]} */
const v2Facts = (found) => [
  ["baseOffset", found.base], ["lastOffsetDelta", found.last - found.base], ["records", found.count], ["leaderEpoch", found.epoch],
  ["producerId", found.producerId], ["producerEpoch", found.producerEpoch], ["baseSequence", found.baseSequence],
];

class HwOwnBatch extends HwElement {
  /** @type {Signal<FoundBatch | FailedBatch | null>} */
  #found = signal(null);
  /** The offset of the record that is marked. @type {Signal<bigint | null>} */
  #record = signal(null);
  /** @type {Signal<number | null>} */
  #jump = signal(null);
  #asked = "";

  /** Loads the batch that the signals name, unless it is loaded. */
  async #load(from = 0) {
    const open = batch.value;
    if (!open) return;
    const summary = await answerOf("summary", { id: open.id });
    const how = meaning.value !== "auto" ? meaning.value : summary && "meaning" in summary ? summary.meaning : "plain";
    const key = `${open.id}:${open.row}:${from}:${how}`;
    if (this.#asked === key) return;
    this.#asked = key;
    const found = await call("batch", { ...open, from, count: PAGE, meaning: how })
      .catch((/** @type {Fault} */ failed) => ({ failed, row: open.row, from }));
    if (this.#asked !== key) return;
    this.#record.value = null;
    this.#jump.value = null;
    this.#found.value = { ...found, id: open.id };
  }

  /** @param {ShownRecord} record */
  #show(record) {
    this.#record.value = record.offset;
    this.#jump.value = record.position;
  }

  /** @param {Part | null} part */
  content(part) {
    if (part === null) return html`<span class="null">null</span>`;
    const shown = part.text ?? part.hex;
    const isCut = part.text === null ? part.size > 256 : part.size > 4096;
    return html`<span class=${part.text === null ? "raw" : ""}>${part.text === null ? "0x" : ""}${shown || "“”"}${isCut ? "…" : ""}</span>`;
  }

  /** @param {ShownRecord} record @returns {[unknown, unknown]} what it means */
  meant({ control, decoded, key, value }) {
    if (control) return [control.kind, control.coordinatorEpoch === undefined
      ? "" : t("own.coordinator_epoch", { n: control.coordinatorEpoch })];
    if (decoded) return [decoded.key, decoded.value ?? html`<span class="null">null</span>`];
    return [this.content(key), this.content(value)];
  }

  /** @param {ShownRecord} record */
  record(record) {
    const { offset, headers, position } = record;
    const [key, value] = this.meant(record);
    const title = t("own.record_title", { key: record.key?.size ?? "null", value: record.value?.size ?? "null",
      at: stamp(record.timestamp) });
    return html`<li class=${this.#record.value === offset ? "on" : ""}>
      <button class="o mono" title=${position === null ? t("own.no_bytes") : t("record.in_bytes")} ?disabled=${position === null}
        @click=${() => this.#show(record)}>${offset}</button>
      <div title=${title}><span class="k mono">${key}</span><span class="v mono">${value}</span>
        ${headers.map(({ name, value: part }) => html`<span class="h mono">${name}=${this.content(part)}</span>`)}</div></li>`;
  }

  /** @param {Entry} entry */
  entry(entry) {
    const { name } = state.value.files.find(({ id }) => id === entry.id) ?? {};
    const { kind, offset, position = 0, timestamp = -1, firstOffset, lastOffset } = entry;
    const text = kind === "index" ? `${offset} → ${spaced(position)}`
      : kind === "timeindex" ? `${stamp(timestamp)} → ${offset}` : `${t("own.aborted")} ${firstOffset}–${lastOffset}`;
    const go = () => {
      choose(entry.id);
      marked.value = entry.n;
    };
    return html`<li><button class="entry-link" @click=${go}><span class="tag">${shortName(name ?? "")}</span><span
      class="mono">${text}</span></button></li>`;
  }

  /** @param {OpenBatch} found */
  facts(found) {
    const isV2 = found.magic > 1;
    const time = found.isLogAppendTime ? "LogAppendTime" : "CreateTime";
    /** @type {[name: string, value: unknown, width?: string][]} */
    const pairs = [
      ["position", spaced(found.position)], ["size", bytes(found.size)],
      ["crc", html`${hex8(found.crc)} ${checked(found)}`],
      ["magic", `${found.magic} · ${isV2 ? "CRC-32C" : "CRC-32"}`],
      ["compression", found.codec],
      ...(isV2 ? v2Facts(found) : []),
      ["attributes", `0x${(found.attributes & 0xffff).toString(16).padStart(2, "0")}`],
    ];
    if (found.magic) pairs.push([time, stamp(found.maxTimestamp), "wide"]);
    if (isV2) pairs.push([found.hasHorizon ? "deleteHorizon" : "baseTimestamp", stamp(found.baseTimestamp), "wide"]);
    return html`<dl class="facts">${pairs.map(([name, value, width = ""]) => html`<div class=${width}><dt>${name}</dt><dd>${value}</dd>
      </div>`)}</dl>`;
  }

  /** @param {OpenBatch} found */
  records(found) {
    /** @param {string} sign @param {number} from @param {boolean} isEnd @param {string} label */
    const turn = (sign, from, isEnd, label) => html`<button class="btn small" ?disabled=${isEnd} aria-label=${label}
      @click=${() => this.#load(from)}>${sign}</button>`;
    return html`<section class="part">
      <h3>${t("hex.records")}<span>${spaced(found.known)}</span>
        <select aria-label=${t("own.meaning")} @change=${onValue((value) => (meaning.value = MEANINGS.find((one) => one === value)
          ?? "auto"))}>
          ${MEANINGS.map((one) => html`<option value=${one}
            ?selected=${one === meaning.value}>${t(`own.meaning.${one}`)}</option>`)}</select></h3>
      ${found.error ? said(found.error) : ""}
      <ol class="recs">${found.records.map((record) => this.record(record))}</ol>
      ${found.known > PAGE ? html`<div class="row">
        ${turn("‹", Math.max(0, found.from - PAGE), found.from === 0, t("file.previous"))}
        <span class="mono dim">${t("own.record_page",
          { from: spaced(found.from + 1), to: spaced(found.from + found.records.length), n: spaced(found.known) })}</span>
        ${turn("›", found.from + PAGE, found.from + PAGE >= found.known, t("file.next"))}</div>` : ""}
    </section>`;
  }

  render() {
    void meaning.value;
    void state.value.busy;
    const open = batch.value;
    if (!open) return html`<p class="quiet">${t("own.no_batch")}</p>`;
    const before = this.#found.peek();
    queueMicrotask(() => this.#load(before?.row === open.row && before.id === open.id ? before.from : 0));
    const found = this.#found.value;
    if (!found || found.id !== open.id) return html`<p class="quiet">${t("own.reading")}</p>`;
    if (found.failed) return html`<div class="part">${said(found.failed)}</div>`;
    /** @param {number} row */
    const go = (row) => () => showInLog(open.id, row);
    /** @param {string} sign @param {string} label @param {boolean} isEnd @param {number} row */
    const turn = (sign, label, isEnd, row) => html`<button class="btn small" ?disabled=${isEnd} aria-label=${label} title=${label}
      @click=${go(row)}>${sign}</button>`;
    const rows = state.value.files.find(({ id }) => id === open.id)?.count ?? 0;
    return html`<section class="part head">
        <div class="row"><h2>${t("file.batch")} <span class="mono">${span(found.base, found.last)}</span></h2>
          <span class="spacer"></span>
          ${turn("‹", t("own.previous_batch"), !found.row, found.row - 1)}${turn("›", t("own.next_batch"), found.row + 1 >= rows,
            found.row + 1)}</div>
        <div class="row tags">${tags(found)}
          ${chosen.value === open.id ? "" : html`<button class="chip small"
            @click=${go(found.row)}>${icon("find")}${t("own.in_log")}</button>`}</div>
        ${found.computed !== null && found.computed !== found.crc
          ? said({ rule: "crc", values: { stored: found.crc, computed: found.computed } }) : ""}
        ${this.facts(found)}
      </section>
      ${found.entries.length ? html`<section class="part"><h3>${t("own.entries_here")}</h3>
        <ul class="entry-links">${found.entries.map((entry) => this.entry(entry))}</ul></section>` : ""}
      ${this.records(found)}
      <section class="part"><h3>${t("own.bytes")}<span class="mono">@${spaced(found.position)}</span></h3>
        <hw-own-hex .of=${this.#of(found)} .record=${this.#record.value} .jump=${this.#jump.value}></hw-own-hex></section>`;
  }

  /** @type {Bytes | null} */
  #last = null;

  /** The same object for the same batch, so that the bytes are requested once. @param {FoundBatch} found */
  #of({ id, row, position, size }) {
    const last = this.#last;
    if (last && last.id === id && last.row === row) return last;
    this.#last = { what: "hex", id, row, start: position, end: position + size };
    return this.#last;
  }
}
customElements.define("hw-own-batch", HwOwnBatch);

/**
 * The properties of a batch, in words.
 * @param {Pick<Header, "isControl" | "isTransactional" | "magic" | "producerId" | "hasHorizon" | "count"> & { codec: string }} batch
 */
export const tags = ({ codec, isControl, isTransactional, magic, producerId, hasHorizon, count }) => [
  codec !== "none" && html`<span class="tag">${codec}</span>`,
  isControl && html`<span class="tag control">${t("own.control")}</span>`,
  isTransactional && !isControl && html`<span class="tag txn">${t("own.transactional")}</span>`,
  producerId >= 0n && html`<span class="tag">pid ${producerId}</span>`,
  magic < 2 && html`<span class="tag warn">magic ${magic}</span>`,
  hasHorizon && html`<span class="tag">${t("own.horizon")}</span>`,
  count === 0 && html`<span class="tag">${t("own.emptied")}</span>`,
].filter(Boolean);
