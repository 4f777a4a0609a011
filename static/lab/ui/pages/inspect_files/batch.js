// The right column of the page /inspect/: one batch with its header, its records, and its bytes.
import { HwElement, html, icon } from "../../kit/element.js";
import { onValue } from "../../kit/events.js";
import { bytes, spaced } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { ask, batch, choose, chosen, marked, meaning, showInLog, signal, state } from "./client.js";
import "./hex.js";
import { hex8, ruleName, sentence, shortName, span, stamp } from "./texts.js";

const PAGE = 50;
const MEANINGS = ["auto", "plain", "offsets", "transactions"];

/** A broken rule as a message. */
const said = (fault) => html`<div class="message bad"><b>${ruleName(fault.rule)}</b><span>${sentence(fault)}</span></div>`;

/** Whether a checksum is the right one, if it was computed. */
const checked = ({ crc, computed }) =>
  computed === null ? "" : computed === crc ? html`<b class="fine">✓</b>` : html`<b class="broken">✕ ${hex8(computed)}</b>`;

class HwOwnBatch extends HwElement {
  #found = signal(null);
  #record = signal(null);
  #jump = signal(null);
  #asked = "";

  /** Loads what the signals say, if that is not what is there. */
  async #load(from = 0) {
    const open = batch.value;
    if (!open) return;
    const summary = await ask("summary", { id: open.id }).catch(() => null);
    const how = meaning.value === "auto" ? summary?.meaning ?? "plain" : meaning.value;
    const key = `${open.id}:${open.row}:${from}:${how}`;
    if (this.#asked === key) return;
    this.#asked = key;
    const found = await ask("batch", { ...open, from, count: PAGE, meaning: how }).catch((error) => ({ failed: error }));
    if (this.#asked !== key) return;
    this.#record.value = null;
    this.#jump.value = null;
    this.#found.value = { ...found, id: open.id, how };
  }

  #show(record) {
    this.#record.value = record.offset;
    this.#jump.value = record.position;
  }

  content(part) {
    if (part === null) return html`<span class="null">null</span>`;
    const shown = part.text ?? part.hex;
    const isCut = part.text === null ? part.size > 256 : part.size > 4096;
    return html`<span class=${part.text === null ? "raw" : ""}>${part.text === null ? "0x" : ""}${shown || "“”"}${isCut ? "…" : ""}</span>`;
  }

  record(record) {
    const { offset, control, decoded, headers, position } = record;
    const meant = control ? [control.kind, control.coordinatorEpoch === undefined ? "" : t("own.coordinator_epoch", { n: control.coordinatorEpoch })]
      : decoded ? [decoded.key, decoded.value ?? html`<span class="null">null</span>`]
      : [this.content(record.key), this.content(record.value)];
    const title = t("own.record_title", { key: record.key?.size ?? "null", value: record.value?.size ?? "null", at: stamp(record.timestamp) });
    return html`<li class=${this.#record.value === offset ? "on" : ""}>
      <button class="o mono" title=${position === null ? t("own.no_bytes") : t("record.in_bytes")} ?disabled=${position === null}
        @click=${() => this.#show(record)}>${offset}</button>
      <div title=${title}><span class="k mono">${meant[0]}</span><span class="v mono">${meant[1]}</span>
        ${headers.map(([name, value]) => html`<span class="h mono">${name}=${this.content(value)}</span>`)}</div></li>`;
  }

  entry(entry) {
    const { name } = state.value.files.find(({ id }) => id === entry.id) ?? {};
    const text = { index: `${entry.offset} → ${spaced(entry.position ?? 0)}`, timeindex: `${stamp(entry.timestamp)} → ${entry.offset}` }[entry.kind]
      ?? `${t("own.aborted")} ${entry.firstOffset}–${entry.lastOffset}`;
    const go = () => {
      choose(entry.id);
      marked.value = entry.n;
    };
    return html`<li><button class="entry-link" @click=${go}><span class="tag">${shortName(name ?? "")}</span><span class="mono">${text}</span></button></li>`;
  }

  facts(found) {
    const isV2 = found.magic > 1;
    const time = found.isLogAppendTime ? "LogAppendTime" : "CreateTime";
    const pairs = [
      ["position", spaced(found.position)], ["size", bytes(found.size)],
      ["crc", html`${hex8(found.crc)} ${checked(found)}`],
      ["magic", `${found.magic} · ${isV2 ? "CRC-32C" : "CRC-32"}`],
      ["compression", found.codec],

      ...(isV2 ? [
        ["baseOffset", found.base], ["lastOffsetDelta", found.last - found.base], ["records", found.count], ["leaderEpoch", found.epoch],
        ["producerId", found.producerId], ["producerEpoch", found.producerEpoch], ["baseSequence", found.baseSequence],
      ] : []),
      ["attributes", `0x${(found.attributes & 0xffff).toString(16).padStart(2, "0")}`],
      ...(found.magic ? [[time, stamp(found.maxTimestamp), "wide"]] : []),
      ...(isV2 ? [[found.hasHorizon ? "deleteHorizon" : "baseTimestamp", stamp(found.baseTimestamp), "wide"]] : []),
    ];
    return html`<dl class="facts">${pairs.map(([name, value, width = ""]) => html`<div class=${width}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
  }

  records(found) {
    const turn = (sign, from, isEnd, label) => html`<button class="btn small" ?disabled=${isEnd} aria-label=${label} @click=${() => this.#load(from)}>${sign}</button>`;
    return html`<section class="part">
      <h3>${t("hex.records")}<span>${spaced(found.known)}</span>
        <select aria-label=${t("own.meaning")} @change=${onValue((value) => (meaning.value = value))}>
          ${MEANINGS.map((one) => html`<option value=${one} ?selected=${one === meaning.value}>${t(`own.meaning.${one}`)}</option>`)}</select></h3>
      ${found.error ? said(found.error) : ""}
      <ol class="recs">${found.records.map((record) => this.record(record))}</ol>
      ${found.known > PAGE ? html`<div class="row">
        ${turn("‹", Math.max(0, found.from - PAGE), found.from === 0, t("file.previous"))}
        <span class="mono dim">${t("own.record_page", { from: spaced(found.from + 1), to: spaced(found.from + found.records.length), n: spaced(found.known) })}</span>
        ${turn("›", found.from + PAGE, found.from + PAGE >= found.known, t("file.next"))}</div>` : ""}
    </section>`;
  }

  render() {
    void meaning.value;
    void state.value.busy;
    const open = batch.value;
    if (!open) return html`<p class="quiet">${t("own.no_batch")}</p>`;
    queueMicrotask(() => this.#load(this.#found.peek()?.row === open.row && this.#found.peek()?.id === open.id ? this.#found.peek()?.from : 0));
    const found = this.#found.value;
    if (!found || found.id !== open.id) return html`<p class="quiet">${t("own.reading")}</p>`;
    if (found.failed) return html`<div class="part">${said(found.failed)}</div>`;
    const go = (row) => () => showInLog(open.id, row);
    const turn = (sign, label, isEnd, row) => html`<button class="btn small" ?disabled=${isEnd} aria-label=${label} title=${label} @click=${go(row)}>${sign}</button>`;
    const rows = state.value.files.find(({ id }) => id === open.id)?.count ?? 0;
    return html`<section class="part head">
        <div class="row"><h2>${t("file.batch")} <span class="mono">${span(found.base, found.last)}</span></h2>
          <span class="spacer"></span>
          ${turn("‹", t("own.previous_batch"), !found.row, found.row - 1)}${turn("›", t("own.next_batch"), found.row + 1 >= rows, found.row + 1)}</div>
        <div class="row tags">${tags(found)}
          ${chosen.value === open.id ? "" : html`<button class="chip small" @click=${go(found.row)}>${icon("find")}${t("own.in_log")}</button>`}</div>
        ${found.computed !== null && found.computed !== found.crc ? said({ rule: "crc", values: { stored: found.crc, computed: found.computed } }) : ""}
        ${this.facts(found)}
      </section>
      ${found.entries.length ? html`<section class="part"><h3>${t("own.entries_here")}</h3>
        <ul class="entry-links">${found.entries.map((entry) => this.entry(entry))}</ul></section>` : ""}
      ${this.records(found)}
      <section class="part"><h3>${t("own.bytes")}<span class="mono">@${spaced(found.position)}</span></h3>
        <hw-own-hex .of=${this.#of(found)} .record=${this.#record.value} .jump=${this.#jump.value}></hw-own-hex></section>`;
  }

  #last = null;

  /** The same object for the same batch, so that the bytes are asked for once. */
  #of({ id, row, position, size }) {
    const same = this.#last && this.#last.id === id && this.#last.row === row;
    if (!same) this.#last = { what: "hex", id, row, start: position, end: position + size };
    return this.#last;
  }
}
customElements.define("hw-own-batch", HwOwnBatch);

/** What a batch is, in words. */
export const tags = ({ codec, isControl, isTransactional, magic, producerId, hasHorizon, count }) => [
  codec !== "none" && html`<span class="tag">${codec}</span>`,
  isControl && html`<span class="tag control">${t("own.control")}</span>`,
  isTransactional && !isControl && html`<span class="tag txn">${t("own.transactional")}</span>`,
  producerId >= 0n && html`<span class="tag">pid ${producerId}</span>`,
  magic < 2 && html`<span class="tag warn">magic ${magic}</span>`,
  hasHorizon && html`<span class="tag">${t("own.horizon")}</span>`,
  count === 0 && html`<span class="tag">${t("own.emptied")}</span>`,
].filter(Boolean);
