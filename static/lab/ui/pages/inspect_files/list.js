// The middle column of the page /inspect/: the summary of a file, and its batches, entries or lines as a virtual list.
import { HwElement, html, icon, nothing } from "../../kit/element.js";
import { onSubmit } from "../../kit/events.js";
import { spaced } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { tags } from "./batch.js";
import { answerOf, call, batch, choose, chosen, column, file, marked, openBatch, pointed, signal, state } from "./client.js";
import "./hex.js";
import "./map.js";
import { ruleName, shortSpan, size, span, stamp } from "./texts.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { PropertyValues } from "lit" */
/** @import { AbortedTransaction, EpochEntry, OffsetEntry, ProducerEntry } from "../../../own_files/tables.js" */
/** @import { LogSummary, TableSummary } from "../../../own_files/own_files.js" */
/** @import { Api } from "../../../own_files/worker.js" */
/** @import { FileState } from "./client.js" */
/** @import { Bytes } from "./hex.js" */

/**
 * @typedef {Awaited<ReturnType<Api["rows"]>>[number]} BatchRow
 * @typedef {{ n: number, row: number | null }} EntryRow an entry of a table, and the row of its batch
 * @typedef {EntryRow & { offset: number, relative: number, position: number }} IndexRow
 * @typedef {EntryRow & { timestamp: number, offset: number }} TimeRow
 * @typedef {BatchRow | EntryRow} Row
 * @typedef {{ id: number, own: TableSummary | LogSummary, log: number | null, ofLog: LogSummary | null }} Summary
 * `log`: the id
 *   of the segment's log
 */

/**
 * @template T
 * @typedef {[name: string, cell: (row: T) => unknown, className?: string]} Column name in the catalogue, cell, class of
 * the column
 */

/**
 * @typedef {{ log: Column<BatchRow>[], index: Column<IndexRow>[], timeindex: Column<TimeRow>[],
 *             txnindex: Column<EntryRow & AbortedTransaction>[], snapshot: Column<EntryRow & ProducerEntry>[],
 *             epochs: Column<EntryRow & EpochEntry>[], offsets: Column<EntryRow & OffsetEntry>[],
 *             properties: Column<EntryRow & { line: string }>[] }} Columns
 */

const ROW_PX = 28;
/** Browsers limit an element's height to some millions of pixels; beyond it the scroll bar is scaled. */
const TALLEST_PX = 4_000_000;
const SPARE_ROWS = 2;
const REFRESH_MS = 250;

/** @param {number | bigint} value */
const number = (value) => html`<span class="num">${spaced(value)}</span>`;
/** @param {number | bigint | string} value */
const offset = (value) => html`<span class="num">${value}</span>`;

/** Columns of each kind of list. @type {Columns} */
const COLUMNS = {
  log: [
    ["offsets", (row) => html`<b class="num">${row.magic < 2 && row.codec !== "none"
      ? `…${row.last}` : shortSpan(row.base, row.last)}</b>`, "wide"],
    ["position", (row) => number(row.position)],
    ["size", (row) => number(row.size), "less"],
    ["records", (row) => offset(row.count < 0 ? "?" : row.count), "slim"],
    ["time", (row) => html`<span class="num">${stamp(row.maxTimestamp)}</span>`, "time less"],
    ["batch", (row) => html`${tags(row)}`, "tags least"],
    ["index", (row) => row.marks.map((kind) => html`<i class="mark ${kind}" title=${t(`own.mark.${kind}`)}></i>`), "slim"],
    ["state", (row) => (row.rules.length ? html`<span class="tag bad">${ruleName(row.rules[0])}</span>`
      : html`<span class="fine">✓</span>`), "end"],
  ],
  index: [["entry", (row) => offset(row.n)], ["offset", (row) => html`<b class="num">${row.offset}</b>`],
    ["relative", (row) => offset(`+${row.relative}`), "less"],
    ["position", (row) => number(row.position)], ["leads", (row) => leads(row), "end"]],
  timeindex: [["entry", (row) => offset(row.n)], ["timestamp", (row) => html`<b class="num">${stamp(row.timestamp)}</b>`, "time"],
    ["offset", (row) => offset(row.offset)],
    ["leads", (row) => leads(row), "end"]],
  txnindex: [["entry", (row) => offset(row.n)], ["producer", (row) => offset(row.producerId)], ["first", (row) => offset(row.firstOffset)],
    ["marker", (row) => html`<b class="num">${row.lastOffset}</b>`], ["lso", (row) => offset(row.lastStableOffset), "less"],
      ["leads", (row) => leads(row), "end"]],
  snapshot: [["producer", (row) => html`<b class="num">${row.producerId}</b>`],
    ["producer_epoch", (row) => offset(row.producerEpoch), "less"],
    ["last_sequence", (row) => offset(row.lastSequence)], ["last_offset", (row) => offset(row.lastOffset)],
    ["timestamp", (row) => html`<span class="num">${stamp(row.timestamp)}</span>`, "time less"],
    ["open_txn", (row) => offset(row.currentTxnFirstOffset < 0n ? "—" : row.currentTxnFirstOffset), "end"]],
  epochs: [["epoch", (row) => html`<b class="num">${row.epoch}</b>`], ["start", (row) => offset(row.startOffset), "end"]],
  offsets: [["topic", (row) => html`<b class="mono">${row.topic}</b>`, "wide"], ["partition", (row) => offset(row.partition)],
    ["offset", (row) => offset(row.offset), "end"]],
  properties: [["line", (row) => html`<span class="mono">${row.line}</span>`, "wide end"]],
};

/** The columns of a kind; undefined for one that is not a list. @param {string} kind */
const columnsOf = (kind) => /** @type {Record<string, Column<Row>[]>} */ (/** @type {unknown} */ (COLUMNS))[kind];

/** @param {EntryRow} entry */
const leads = ({ row }) => (row === null ? html`<span class="dim">—</span>` : html`<span class="go">${t("own.to_batch")}</span>`);

class HwOwnRows extends HwElement {
  static properties = { of: { attribute: false } };

  /** The rows that are loaded. @type {Signal<{ id: number, first: number, items: Row[] }>} */
  #rows = signal({ id: 0, first: 0, items: [] });
  #observer = new ResizeObserver(([{ contentRect }]) => {
    this.#height = contentRect.height;
    this.#scrolled();
  });
  #asked = "";
  #asking = false;
  /** First visible row, with a fraction. */
  #first = 0;
  #height = 0;

  constructor() {
    super();
    /** The file. @type {Pick<FileState, "id" | "kind" | "count" | "status">} */
    this.of = { id: 0, kind: "foreign", count: 0, status: "waiting" };
  }

  connectedCallback() {
    super.connectedCallback();
    this.updateComplete.then(() => this.#observer.observe(this.#scroll));
  }

  /** @param {string} selector */
  #part(selector) {
    return /** @type {HTMLElement} */ (this.querySelector(selector));
  }

  get #scroll() {
    return this.#part(".scroll");
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#observer.disconnect();
  }

  get #inSight() {
    return Math.max(1, Math.floor(this.#height / ROW_PX));
  }

  get #tall() {
    return Math.min(TALLEST_PX, this.of.count * ROW_PX);
  }

  /** Pixels of the scroll bar for a row. */
  get #scale() {
    const rows = this.of.count - this.#inSight;
    return rows > 0 ? Math.max(1, this.#tall - this.#height) / rows : ROW_PX;
  }

  #scrolled() {
    const { scrollTop } = this.#scroll;
    this.#first = Math.max(0, Math.min(this.of.count - 1, scrollTop / this.#scale));
    this.#load();
    this.requestUpdate();
  }

  /** A turn of the wheel moves as many rows as it would without the bound on the height. @param {WheelEvent} event */
  #wheel(event) {
    if (this.of.count * ROW_PX <= TALLEST_PX || event.ctrlKey) return;
    event.preventDefault();
    this.#scroll.scrollTop += (event.deltaY / ROW_PX) * this.#scale;
  }

  async #load() {
    const { id, kind, count, status } = this.of;
    const first = Math.max(0, Math.floor(this.#first) - SPARE_ROWS);
    const wanted = this.#inSight + SPARE_ROWS * 2 + 1;
    const key = `${id}:${first}:${wanted}:${count}:${status}`;
    if (this.#asked === key || this.#asking || !count) return;
    this.#asked = key;
    this.#asking = true;
    /** @type {Row[]} */
    const items = await answerOf(kind === "log" ? "rows" : "entries", { id, first, count: wanted }) ?? [];
    this.#asking = false;
    if (this.of.id === id) this.#rows.value = { id, first, items };
    if (this.of.status === "reading") setTimeout(() => this.#load(), REFRESH_MS);
    else this.#load();
  }

  /** Scrolls a row into view. @param {number} row */
  #reveal(row) {
    const inSight = row >= this.#first && row < Math.floor(this.#first) + this.#inSight;
    if (!inSight) this.#scroll.scrollTop = Math.max(0, row - Math.floor(this.#inSight / 3)) * this.#scale;
  }

  /** @param {PropertyValues} changed */
  updated(changed) {
    const { id, count } = this.of;
    this.#part(".tall").style.height = `${this.#tall}px`;
    this.#part(".layer").style.transform = `translateY(${-(this.#first - Math.max(0, Math.floor(this.#first) - SPARE_ROWS)) * ROW_PX}px)`;
    if (changed.has("of")) {
      if (changed.get("of")?.id !== id) {
        this.#asked = "";
        this.#scroll.scrollTop = 0;
        this.#first = 0;
      }
      this.#load();
    }
    const row = marked.value;
    if (row >= 0 && row < count && row !== this.#revealed) this.#reveal(row);
    this.#revealed = row;
  }

  #revealed = -1;

  /** @param {Row} item @param {number} place */
  #open({ row }, place) {
    marked.value = place;
    if (row === null) return;
    if (this.of.kind === "log") openBatch(this.of.id, row);
    else this.#follow(row);
  }

  /** @param {number} row */
  async #follow(row) {
    const id = await call("logOf", { id: this.of.id });
    if (id) openBatch(id, row);
  }

  /** @param {KeyboardEvent} event */
  async #key(event) {
    const page = this.#inSight - 1;
    const { count } = this.of;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const move = new Map(Object.entries(moves)).get(event.key);
    if (event.key !== "Enter" && move === undefined) return;
    event.preventDefault();
    const row = move === undefined ? marked.value : Math.max(0, Math.min(count - 1, (marked.value < 0 ? -1 : marked.value) + move));
    if (row < 0 || !count) return;
    marked.value = row;
    const { first, items } = this.#rows.value;
    if (this.of.kind === "log") batch.value = { id: this.of.id, row };
    else if (items[row - first]) this.#open(items[row - first], row);
    if (event.key === "Enter") column.value = "batch";
  }

  /** @param {Row | undefined} item @param {number} place */
  row(item, place) {
    const { kind } = this.of;
    const isOn = kind === "log" ? batch.value?.id === this.of.id && batch.value.row === place : marked.value === place;
    if (!item) return html`<div class="line" role="row"></div>`;
    const at = "position" in item ? Number(item.position) : -1;
    const isBroken = "rules" in item && item.rules.length > 0;
    return html`<div class="line ${isOn ? "on" : ""} ${isBroken ? "broken" : ""}" role="row" id="own-row-${place}"
      aria-rowindex=${place + 2} aria-selected=${isOn} @click=${() => this.#open(item, place)} @mouseenter=${() => (pointed.value = at)}
        @mouseleave=${() => (pointed.value = -1)}>
      ${columnsOf(kind).map(([, cell, name = ""]) => html`<span class="cell ${name}" role="gridcell">${cell(item)}</span>`)}</div>`;
  }

  render() {
    const { id, kind, count } = this.of;
    const { first, items } = this.#rows.value.id === id ? this.#rows.value : { first: 0, items: [] };
    const from = Math.max(0, Math.floor(this.#first) - SPARE_ROWS);
    const places = Array.from({ length: Math.min(this.#inSight + SPARE_ROWS * 2 + 1, Math.max(0, count - from)) }, (_, n) => from + n);
    return html`<div class="grid ${kind}" role="grid" tabindex="0" aria-rowcount=${count + 1} aria-label=${t(`own.list.${kind}`)}
        aria-activedescendant=${marked.value >= 0 ? `own-row-${marked.value}` : nothing} @keydown=${this.#key}>
      <div class="line titles" role="row" aria-rowindex="1">${columnsOf(kind).map(([name, , className = ""]) =>
        html`<span class="cell ${className}" role="columnheader">${t(`own.column_of.${name}`)}</span>`)}</div>
      <div class="scroll" tabindex="-1" role="presentation" @scroll=${this.#scrolled} @wheel=${this.#wheel}>
        <div class="tall" role="presentation"><div class="layer"
          role="presentation">${places.map((place) => this.row(items[place - first], place))}</div></div></div></div>`;
  }
}
customElements.define("hw-own-rows", HwOwnRows);

class HwOwnContent extends HwElement {
  /** @type {Signal<Summary | null>} */
  #summary = signal(null);
  #asked = "";

  /** @param {FileState} file */
  async #load({ id, kind, status, count }) {
    const key = `${id}:${status}:${count}:${state.value.files.length}`;
    if (this.#asked === key) return;
    this.#asked = key;
    const log = kind === "log" ? id : await answerOf("logOf", { id });
    const [own, ofLog] = await Promise.all([answerOf("summary", { id }), log ? answerOf("summary", { id: log }) : null]);
    if (own && this.#asked === key) this.#summary.value = { id, own, log, ofLog: ofLog && "bins" in ofLog ? ofLog : null };
  }

  /** @param {FileState} file @param {Summary} summary */
  facts({ kind }, { own }) {
    if (!("bins" in own))
      return html`<span><b class="num">${spaced(own.count)}</b> ${t(`own.count.${kind}`)}</span><span class="num">${size(own.size)}</span>`;
    const codecs = Object.entries(own.codecs).map(([name, n]) => `${name} ${spaced(n)}`).join(" · ");
    const { epochs } = own;
    return html`<span><b class="num">${spaced(own.count)}</b> ${t("own.count.log")}</span>
      <span><b class="num">${own.wrappers ? "≥ " : ""}${spaced(own.records + own.wrappers)}</b> ${t("own.count.records")}</span>
      <span>${t("own.column_of.offsets")} <b class="num">${own.count ? span(own.first, own.last) : "—"}</b></span>
      <span class="num">${size(own.size)}</span>
      ${own.youngest >= 0 ? html`<span class="num">${stamp(own.oldest)} – ${stamp(own.youngest)}</span>` : ""}
      ${codecs.startsWith("none") && !codecs.includes("·") ? "" : html`<span class="mono">${codecs}</span>`}
      ${own.controls ? html`<span>${t("own.controls", { n: spaced(own.controls) })}</span>` : ""}
      ${epochs.length ? html`<span>${t("own.column_of.epoch")} <b
        class="num">${span(epochs[0].epoch, epochs[epochs.length - 1].epoch)}</b></span>` : ""}
      ${Object.keys(own.magics).some((magic) => magic !== "2")
        ? html`<span class="mono">magic ${Object.keys(own.magics).join(", ")}</span>` : ""}`;
  }

  /** @param {HTMLFormElement} form */
  async #find(form) {
    const text = String(new FormData(form).get("offset")).trim();
    const log = this.#summary.value?.log;
    if (!/^\d+$/.test(text) || !log) return;
    const row = await answerOf("find", { id: log, offset: Number(text) });
    if (row === null) return;
    if (chosen.value !== log) choose(log);
    marked.value = row;
    openBatch(log, row);
  }

  /** @param {FileState} shown */
  body(shown) {
    if (shown.kind === "foreign" || !columnsOf(shown.kind) || (!shown.count && shown.size && shown.status === "done"))
      return html`<div class="part only-bytes"><p class="dim">${t(shown.kind === "foreign" ? "own.foreign_note" : "own.nothing_read")}</p>
        <hw-own-hex .of=${this.#raw(shown)} .record=${null} .jump=${null}></hw-own-hex></div>`;
    if (!shown.count) return html`<p class="quiet">${shown.status === "done" ? t("file.empty") : t("own.reading")}</p>`;
    return html`<hw-own-rows .of=${shown}></hw-own-rows>`;
  }

  /** @type {Bytes | null} */
  #last = null;

  /** The same object for the same file, so that its bytes are requested once. @param {FileState} file */
  #raw({ id, size: whole }) {
    const last = this.#last;
    if (last?.id === id) return last;
    this.#last = { what: "bytes", id, row: 0, start: 0, end: whole };
    return this.#last;
  }

  render() {
    const shown = file.value;
    if (!shown) return html`<p class="quiet">${t("file.choose")}</p>`;
    queueMicrotask(() => this.#load(shown));
    const summary = this.#summary.value?.id === shown.id ? this.#summary.value : null;
    return html`<header class="part head">
        <div class="row"><h2 class="mono">${shown.folder ? html`<span class="dim">${shown.folder}/</span>` : ""}${shown.name}</h2>
          ${shown.state ? html`<span class="tag warn">.${shown.state}</span>` : ""}
          <span class="spacer"></span>
          ${summary?.ofLog?.count ? html`<form class="find" role="search" @submit=${onSubmit((form) => this.#find(form))}>${icon("find")}
            <input name="offset" inputmode="numeric" autocomplete="off" aria-label=${t("own.find")}
              placeholder=${t("own.find")}></form>` : ""}</div>
        <p class="sums">${summary ? this.facts(shown, summary) : ""}</p>
        ${summary?.ofLog?.count ? html`<hw-own-map .summary=${summary.ofLog} .log=${summary.log}></hw-own-map>` : ""}
      </header>
      ${this.body(shown)}`;
  }
}
customElements.define("hw-own-content", HwOwnContent);
