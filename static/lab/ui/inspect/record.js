// The inspector's card of one record: its fields, its batch, its bytes.
import { logEnd, splitRecord } from "../../core/view/selectors.js";
import { HwElement, html } from "../kit/element.js";
import { isAlone } from "../store/api.js";
import { fetchBytes, fetchDecoded, logName, openFile } from "../store/files.js";
import { spaced, wall } from "../kit/format.js";
import { recordFields } from "../parts/hex.js";
import { language, t } from "../kit/i18n.js";
import { facts, section } from "../parts/common.js";
import { moment, selection, signal, split } from "../store/state.js";
import { tailOf } from "../kit/words.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Refusal } from "../../core/refusal.js" */
/** @import { Replica, View } from "../../core/view/view.d.ts" */
/** @import { DecodedBatch, DecodedRecord } from "../store/files.js" */

/**
 * @typedef {{ segment: number, position: number }} Where
 * @typedef {{ batch: DecodedBatch, record: DecodedRecord, segment: number, data: Uint8Array, size: number }} Found
 * @typedef {{ key: string, loading?: boolean, found?: Found | null, error?: Partial<Refusal> }} State
 */

const BYTES_SHOWN = 256;
const MAX_PAGES = 64;
const COMPRESSION = 7;

/**
 * Where to look for an offset in a replica's files: segment, and a byte at or before it. Null when it holds no such offset.
 * @param {Replica} replica
 * @param {number} offset
 * @returns {Where | null}
 */
function whereIs(replica, offset) {
  const known = tailOf(replica).find(({ first, last }) => first <= offset && offset <= last);
  if (known) return { segment: known.segment, position: known.position };
  const bases = Object.keys(replica.segments).map(Number).sort((a, b) => a - b);
  const segment = bases.findLast((base) => base <= offset);
  return segment === undefined ? null : { segment, position: 0 };
}

/** What the view contains about an offset; its bytes are in the lab. @param {Replica} replica @param {number} offset */
function placeFacts(replica, offset) {
  const batch = tailOf(replica).find(({ first, last }) => first <= offset && offset <= last);
  return html`${batch ? section(t("record.batch", { from: batch.first, to: batch.last }), `e${batch.epoch}`, facts([
    [t("replica.base"), batch.segment],
    [t("replica.position"), spaced(batch.position)],
    [t("replica.size"), batch.size],
  ])) : ""}<p class="empty-note">${t("alone.no_bytes")}</p>`;
}

/**
 * Reads a record with its batch; null when the file does not hold it.
 * @param {string} id
 * @param {number} offset
 * @param {number} seq
 * @param {Where} where
 * @returns {Promise<Found | null>}
 */
async function read(id, offset, seq, { segment, position }) {
  const file = logName(segment);
  for (let page = 0, from = position; page < MAX_PAGES; page++) {
    const decoded = await fetchDecoded(id, file, seq, from);
    if (decoded.kind !== "log") return null;
    const { batches } = decoded;
    const batch = batches.find((one) => one.base_offset <= offset && offset <= one.last_offset);
    const record = batch?.records.find((one) => one.offset === offset);
    if (batch && record) return { batch, record, segment,
      ...(await fetchBytes(id, file, seq, record.position, Math.min(record.size, BYTES_SHOWN))) };
    const last = batches.at(-1);
    if (!last || last.last_offset >= offset) return null;
    from = last.position + last.size;
  }
  return null;
}

class HwRecord extends HwElement {
  /** What was read. @type {Signal<State>} */
  #state = signal({ key: "" });

  /**
   * The bytes of a record never change; what can change is whether it is there.
   * @param {string} id
   * @param {number} offset
   * @param {View} view
   * @param {number} seq
   */
  #follow(id, offset, view, seq) {
    const replica = view.replicas[id];
    const isThere = replica && offset >= replica.log_start_offset && offset < logEnd(view, replica);
    const key = [id, offset, isThere, replica?.cut?.at_us].join("|");
    if (this.#state.peek().key === key) return;
    const where = isThere && !isAlone ? whereIs(replica, offset) : null;
    queueMicrotask(async () => {
      this.#state.value = { key, loading: Boolean(where) };
      if (!where) return;
      const next = await read(id, offset, seq, where).then((found) => ({ key, found }),
        (/** @type {Partial<Refusal>} */ error) => ({ key, error }));
      if (this.#state.peek().key === key) this.#state.value = next;
    });
  }

  /** @param {string} id @param {Found} found */
  found(id, { batch, record, segment, data }) {
    const fields = batch.attributes & COMPRESSION ? [] : recordFields(data, record.position);
    const bytes = html`<hw-hex .data=${data} .from=${record.position} .fields=${fields} .focused=${null} .replica=${id}></hw-hex>`;
    const files = html`<button class="val" @click=${() => openFile(id, segment, record.position)}>${t("replica.files")}</button>`;
    const headers = record.headers?.map(([name, value]) => `${name}: ${value}`).join(", ");
    return html`<section class="sec">${facts([
        [t("produce.key"), record.key ?? "null", true],
        [t("produce.value"), record.value ?? "null", true],
        [t("record.time"), wall(record.timestamp, language), true],
        headers && [t("record.headers"), headers, true],
      ])}</section>
      ${section(t("record.batch", { from: batch.base_offset, to: batch.last_offset }), `e${batch.leader_epoch}`, facts([
        [t("record.crc"), `${batch.crc.toString(16).padStart(8, "0")} ${batch.crc_ok ? "✓" : "✕"}`],
        [t("replica.position"), spaced(batch.position)],
        [t("replica.size"), batch.size],
        [t("record.producer_id"), batch.producer_id],
      ]))}
      ${section(t("record.in_bytes"), files, bytes)}`;
  }

  render() {
    const { view, seq } = moment.value;
    const [id, offset] = splitRecord(split(selection.value)[1]);
    const replica = view.replicas[id];
    const isThere = replica && offset >= replica.log_start_offset && offset < logEnd(view, replica);
    this.#follow(id, offset, view, seq);
    const { found, error, loading } = this.#state.value;
    const isCommitted = replica && offset < replica.high_watermark;
    const state = replica && html`<span class="tag ${isCommitted
      ? "ok" : ""}">${t(isCommitted ? "record.committed" : "record.uncommitted")}</span>`;
    return html`<section class="sec">
        <div class="row tight"><b class="mono">@${offset}</b><span class="dim">${id}</span><span class="spacer"></span>${state}</div>
        ${error ? html`<p class="bad">${error.what}</p>` : ""}
        ${found || error || (isAlone && isThere) ? ""
          : html`<p class="dim">${loading ? t("file.loading") : t("record.not_there", { n: offset })}</p>`}
      </section>
      ${found ? this.found(id, found) : ""}
      ${isAlone && isThere ? placeFacts(replica, offset) : ""}`;
  }
}
customElements.define("hw-record", HwRecord);
