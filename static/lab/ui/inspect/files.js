// The files of a replica as they were at the shown instant: what is in them, and their bytes.
import { byName } from "../../core/view/selectors.js";
import { goTo } from "../store/disk.js";
import { fetchBytes, fetchDecoded, get, place, show } from "../store/files.js";
import { coalesced } from "../kit/coalesced.js";
import { HwElement, html, icon, repeat } from "../kit/element.js";
import { onValue } from "../kit/events.js";
import { bytes, spaced, wall } from "../kit/format.js";
import { logFields } from "../parts/hex.js";
import { language, t } from "../kit/i18n.js";
import { facts, nothing, table } from "../parts/common.js";
import { labelled } from "../kit/words.js";
import { effect, hovered, moment, partition, selection, shown, signal, split } from "../store/state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Refusal } from "../../core/refusal.js" */
/** @import { View } from "../../core/view/view.d.ts" */
/** @import { Decoded, DecodedBatch, DecodedLog, DecodedRecord, FilePlace, ReplicaFile } from "../store/files.js" */

/**
 * @typedef {{ data: Uint8Array, size: number }} Bytes
 * @typedef {{ files: ReplicaFile[], seq: number, decoded?: Decoded, error?: Partial<Refusal> } & Partial<Bytes>} Loaded
 */

const PAGE_BYTES = 1024;
const RELOAD_MS = 1000;
const ROW_BYTES = 16;
/** Of more batches, only the focused one is unfolded. */
const UNFOLDED = 4;

/** Shows the record or batch at a range of bytes as bytes. @param {number} position @param {number} size */
const showBytes = (position, size) =>
  show({ as: "bytes", from: position - (position % ROW_BYTES), focus: [position, position + size] });
/** What the server returned for an event. @type {Signal<Loaded>} */
const loaded = signal({ files: [], seq: 0 });

/** Shows the same file on the disk screen. @param {FilePlace} place */
function showOnDisk({ replica, file, from, focus }) {
  const [partition_, broker] = replica.split("@");
  const isOwn = /^\d{20}\.|^leader-epoch|^partition\./.test(file);
  goTo({ broker, path: isOwn ? `${partition_}/${file}` : file, mode: "bytes", at: focus?.[0] ?? from });
  shown.value = "disk";
}

/** @param {FilePlace} place @param {number} seq @returns {Promise<Loaded>} */
async function fetchPlace({ replica, file, as, from }, seq) {
  /** @type {ReplicaFile[]} */
  const files = await (await get("files", { replica, seq })).json();
  const known = files.find(({ name }) => name === file);
  if (!known?.bytes) return { files, seq };
  const decoded = await fetchDecoded(replica, file, seq, as === "bytes" ? 0 : from);
  return { files, seq, decoded, ...(as === "bytes" ? await fetchBytes(replica, file, seq, from, PAGE_BYTES) : {}) };
}

/** Brings `loaded` up to the place and the instant. */
const load = coalesced(async () => {
  const { seq } = moment.peek();
  try {
    loaded.value = await fetchPlace(place.peek(), seq);
    const { files } = loaded.value;
    if (!place.peek().file && files.length) show({ file: (files.find(({ kind, bytes: size }) => kind === "log" && size)
      ?? files[0]).name });
  } catch (error) {
    loaded.value = { files: loaded.peek().files, seq, error: /** @type {Partial<Refusal>} */ (error) };
  }
}, () => (moment.peek().mode === "pause" ? 0 : RELOAD_MS));

/**
 * The replica to show: one that was just selected, else the one shown before, else the leader of the partition, else any.
 * @param {View} view
 * @param {string} selected
 * @param {string} followed
 */
function replicaToShow(view, selected, followed) {
  const led = `${partition.value}@b${view.partitions[partition.value]?.leader}`;
  const wanted = selected !== followed ? [selected, place.value.replica] : [place.value.replica, selected];
  return [...wanted, led, ...Object.keys(view.replicas).sort(byName)].find((id) => id in view.replicas) ?? "";
}

class HwFiles extends HwElement {
  #stop = () => {};

  connectedCallback() {
    super.connectedCallback();
    let followed = "";
    this.#stop = effect(() => {
      const { view, seq } = moment.value;
      const [kind, name] = split(selection.value);
      const selected = kind === "replica" ? name : kind === "record" ? name.slice(0, name.lastIndexOf(":")) : "";
      const replica = replicaToShow(view, selected, followed);
      followed = selected;
      if (replica !== place.peek().replica) show({ replica, file: "" });
      if (seq && replica) queueMicrotask(load);
    });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#stop();
  }

  // --- what a file means -------------------------------------------------------------------------------------------

  /** @param {DecodedRecord} record */
  record({ offset, key, value, position, size }) {
    const id = `${place.value.replica}:${offset}`;
    /** @param {string} what */
    const point = (what) => () => (hovered.value = what);
    return html`<li class=${hovered.value === id ? "on" : ""} @mouseenter=${point(id)} @mouseleave=${point("")}>
      <button class="val mono" title=${t("record.in_bytes")} @click=${() => showBytes(position, size)}>${offset}</button>
      <span class="mono">${key ?? "null"}</span><span class="mono">${value ?? "null"}</span></li>`;
  }

  /** @param {DecodedBatch} batch @param {boolean} unfold */
  batch(batch, unfold) {
    const { position, size, base_offset, last_offset, leader_epoch, crc_ok } = batch;
    return html`<details class="batch" ?open=${unfold}>
      <summary><b class="mono">${base_offset === last_offset ? base_offset : `${base_offset}–${last_offset}`}</b>
        <span class="tag">e${leader_epoch}</span>${crc_ok ? "" : html`<span class="tag bad">${t("file.crc_bad")}</span>`}
        <span class="mono dim right">@${spaced(position)} · ${bytes(size)}</span></summary>
      ${facts([
        [t("record.crc"), `${batch.crc.toString(16).padStart(8, "0")} ${crc_ok ? "✓" : "✕"}`],
        [t("record.attributes"), batch.attributes],
        [t("record.producer_id"), batch.producer_id],
        [t("record.time"), wall(batch.max_timestamp, language)],
      ])}
      <ol class="records">${batch.records.map((record) => this.record(record))}</ol>
      <button class="btn small" @click=${() => showBytes(position, size)}>${t("record.in_bytes")}</button>
    </details>`;
  }

  /** @param {DecodedLog} log @param {ReplicaFile} file */
  log({ batches }, file) {
    const focused = place.value.focus?.[0] ?? -1;
    /** @param {DecodedBatch} batch */
    const unfold = ({ position, size }) => batches.length < UNFOLDED || (focused >= position && focused < position + size);
    const last = batches.at(-1);
    const end = last ? last.position + last.size : file.bytes;
    return html`${repeat(batches, ({ position }) => position, (batch) => this.batch(batch, unfold(batch)))}
      ${end < file.bytes ? html`<button class="btn small" @click=${() => show({ from: end })}>${t("file.more")}</button>` : ""}`;
  }

  /** @param {Decoded} decoded @param {ReplicaFile} file */
  meaning(decoded, file) {
    if (decoded.kind === "log") return this.log(decoded, file);
    if (decoded.kind === "text") return html`${decoded.head ? html`<p>${labelled(decoded.head)}</p>` : ""}
      <pre class="mono text-file">${decoded.lines.join("\n")}</pre>`;
    const rows = decoded.kind === "index"
      ? decoded.entries.map((entry) => entry.map(spaced))
      : decoded.entries.map(([timestamp, offset]) => [wall(timestamp, language), spaced(offset)]);
    const titles = decoded.kind === "index" ? ["offset", "position"] : ["timestamp", "offset"];
    return html`${table(titles.map((title) => t(`file.${title}`)), rows)}
      <p class="dim">${t("file.entries", { n: rows.length })}</p>`;
  }

  /** @param {Bytes} bytes @param {Decoded | undefined} decoded */
  bytes({ data, size }, decoded) {
    const { from, focus, replica } = place.value;
    const to = from + data.length;
    const fields = decoded?.kind === "log" ? logFields(decoded.batches) : [];
    /** @param {string} sign @param {string} label @param {number} page @param {boolean} isEnd */
    const turn = (sign, label, page, isEnd) => html`<button class="btn small" ?disabled=${isEnd} aria-label=${label}
      @click=${() => show({ from: page })}>${sign}</button>`;
    return html`<hw-hex .data=${data} .from=${from} .fields=${fields} .focused=${focus} .replica=${replica}></hw-hex>
      <div class="row tight">
        ${turn("‹", t("file.previous"), Math.max(0, from - PAGE_BYTES), from === 0)}
        <span class="mono dim">${t("file.page", { from: spaced(from), to: spaced(to), n: spaced(size) })}</span>
        ${turn("›", t("file.next"), from + PAGE_BYTES, to >= size)}
      </div>`;
  }

  /** @param {ReplicaFile | undefined} file */
  content(file) {
    const { decoded, data, size = 0, error, seq } = loaded.value;
    const { as } = place.value;
    if (error) return html`<div class="message bad"><b>${error.what ?? t("error.unexpected")}</b><span>${error.todo}</span></div>`;
    if (!file) return html`<p class="dim">${t(place.value.file ? "file.gone" : "file.choose")}</p>`;
    if (!file.bytes) return html`<p class="dim">${t("file.empty")}</p>`;
    const bytesOrMeaning = as === "bytes" ? data && this.bytes({ data, size }, decoded) : decoded && this.meaning(decoded, file);
    return html`<div class="row tight">
        <span class="seg" role="group" aria-label=${t("file.as_meaning")}>${/** @type {const} */ (["meaning", "bytes"]).map((one) =>
          html`<button aria-pressed=${one === as} @click=${() => show({ as: one })}>${t(`file.as_${one}`)}</button>`)}</span>
        <button class="btn small" title=${t("file.on_disk")} aria-label=${t("file.on_disk")}
          @click=${() => showOnDisk(place.value)}>${icon("disk")}</button>
        <span class="spacer"></span><span class="dim">${t("file.at", { n: spaced(seq) })}</span></div>
      ${bytesOrMeaning ?? html`<p class="dim">${t("file.loading")}</p>`}`;
  }

  render() {
    const { replica, file: shown } = place.value;
    const replicas = Object.keys(moment.value.view.replicas).sort(byName);
    if (!replicas.length) return nothing(t("file.none"));
    const { files } = loaded.value;
    return html`<section class="sec">
        <label class="field"><span>${t("file.replica")}</span>
          <select @change=${onValue((value) => show({ replica: value, file: "" }))}>
            ${replicas.map((id) => html`<option .selected=${id === replica}>${id}</option>`)}</select></label>
        <ul class="file-list">${files.map(({ name, bytes: size }) => html`<li>
          <button aria-current=${name === shown ? "true" : "false"} @click=${() => show({ file: name })}>
            <span class="mono">${name}</span><span class="mono dim">${bytes(size)}</span></button></li>`)}</ul>
      </section>
      <section class="sec content">${this.content(files.find(({ name }) => name === shown))}</section>`;
  }
}
customElements.define("hw-files", HwFiles);
