// The files of a replica as they were at the shown instant: what is in them, and their bytes.
import { byName } from "../core/selectors.js";
import { ask, here } from "./actions.js";
import { HwElement, html, repeat } from "./element.js";
import { bytes, spaced, wall } from "./format.js";
import { logFields, recordFields } from "./hex.js";
import { language, t } from "./i18n.js";
import { tailOf } from "./words.js";
import { effect, hovered, moment, partition, selection, signal, split, tab } from "./state.js";

const PAGE_BYTES = 1024;
const RELOAD_MS = 1000;

/** Which file is shown: `from` is the first byte of the page, `focus` the range that is marked. */
const place = signal({ replica: "", file: "", as: "meaning", from: 0, focus: null });
/** What the server said: {key, files, decoded, data (Uint8Array), size, error}. */
const loaded = signal({ key: "", files: [] });

/** The name of a segment's log. */
export const logName = (base) => `${String(base).padStart(20, "0")}.log`;

/** Shows a replica's files in the inspector, at a segment and a byte if they are given. */
export function openFile(replica, segment = null, position = 0) {
  place.value = { replica, file: segment === null ? "" : logName(segment), as: "meaning", from: 0, focus: position ? [position, position + 1] : null };
  tab.value = "files";
}

const query = (values) => new URLSearchParams(values).toString();

/** Bytes of a file of a replica after an event. */
export async function fetchBytes(replica, file, seq, from, length) {
  const response = await ask(`${here.api}/bytes?${query({ replica, file, seq, from, length })}`);
  return { data: new Uint8Array(await response.arrayBuffer()), size: Number(response.headers.get("X-File-Size")) };
}

/** What a file means, from a byte on. */
export const fetchDecoded = async (replica, file, seq, from) => (await ask(`${here.api}/decoded?${query({ replica, file, seq, from })}`)).json();

let running = false;
let again = false;

/** Brings `loaded` up to the place and the instant; asked again while it runs, it runs once more. */
async function load() {
  if (running) {
    again = true;
    return;
  }
  running = true;
  const { replica, file, as, from } = place.peek();
  const { seq } = moment.peek();
  const key = [replica, file, as, from, seq].join("|");
  try {
    const files = await (await ask(`${here.api}/files?${query({ replica, seq })}`)).json();
    const known = files.find(({ name }) => name === file);
    const next = { key, files, seq };
    if (known && known.bytes > 0) {
      next.decoded = await fetchDecoded(replica, file, seq, as === "bytes" ? 0 : from);
      if (as === "bytes") Object.assign(next, await fetchBytes(replica, file, seq, from, PAGE_BYTES));
    }
    loaded.value = next;
    if (!file && files.length) place.value = { ...place.peek(), file: files.find(({ kind, bytes: size }) => kind === "log" && size)?.name ?? files[0].name };
  } catch (error) {
    loaded.value = { key, files: loaded.value.files, seq, error };
  }
  running = false;
  if (again) {
    again = false;
    setTimeout(load, moment.peek().mode === "pause" ? 0 : RELOAD_MS);
  }
}

class HwFiles extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    // The replica that is selected, else the one that was shown, else the leader of the partition, else any.
    this.stop = effect(() => {
      const { view, seq } = moment.value;
      const [kind, name] = split(selection.value);
      const wanted = kind === "replica" ? name : kind === "record" ? name.slice(0, name.lastIndexOf(":")) : "";
      const current = place.value.replica in view.replicas ? place.value.replica : "";
      const led = `${partition.value}@b${view.partitions[partition.value]?.leader}`;
      const replica = (wanted !== this.followed && wanted) || current || wanted || (led in view.replicas ? led : Object.keys(view.replicas).sort(byName)[0]) || "";
      this.followed = wanted;
      if (replica !== place.peek().replica) place.value = { replica, file: "", as: place.peek().as, from: 0, focus: null };
      if (seq && replica) queueMicrotask(load);
    });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.stop();
  }

  log({ batches }, file) {
    const show = (position, size) => (place.value = { ...place.value, as: "bytes", from: Math.max(0, position - (position % 16)), focus: [position, position + size] });
    const focused = place.value.focus?.[0];
    return html`${repeat(batches, (batch) => batch.position, (batch) => html`<details class="batch" ?open=${batches.length < 4 || (focused >= batch.position && focused < batch.position + batch.size)}>
        <summary><b class="mono">${batch.base_offset === batch.last_offset ? batch.base_offset : `${batch.base_offset}–${batch.last_offset}`}</b><span class="tag">e${batch.leader_epoch}</span>${batch.crc_ok ? "" : html`<span class="tag bad">${t("file.crc_bad")}</span>`}<span class="mono dim right">@${spaced(batch.position)} · ${bytes(batch.size)}</span></summary>
        <dl class="kv"><dt>${t("record.crc")}</dt><dd>${batch.crc.toString(16).padStart(8, "0")} ${batch.crc_ok ? "✓" : "✕"}</dd><dt>${t("record.attributes")}</dt><dd>${batch.attributes}</dd><dt>${t("record.producer_id")}</dt><dd>${batch.producer_id}</dd><dt>${t("record.time")}</dt><dd>${wall(batch.max_timestamp, language)}</dd></dl>
        <ol class="records">${batch.records.map((record) => html`<li class=${hovered.value === `${place.value.replica}:${record.offset}` ? "on" : ""} @mouseenter=${() => (hovered.value = `${place.value.replica}:${record.offset}`)} @mouseleave=${() => (hovered.value = "")}><button class="val mono" title=${t("record.in_bytes")} @click=${() => show(record.position, record.size)}>${record.offset}</button><span class="mono">${record.key ?? "null"}</span><span class="mono">${record.value ?? "null"}</span></li>`)}</ol>
        <button class="btn small" @click=${() => show(batch.position, batch.size)}>${t("record.in_bytes")}</button>
      </details>`)}
      ${batches.length && batches.at(-1).position + batches.at(-1).size < file.bytes ? html`<button class="btn small" @click=${() => (place.value = { ...place.value, from: batches.at(-1).position + batches.at(-1).size })}>${t("file.more")}</button>` : ""}`;
  }

  meaning(decoded, file) {
    if (decoded.kind === "log") return this.log(decoded, file);
    if (decoded.kind === "text") return html`<pre class="mono text-file">${decoded.lines.join("\n")}</pre>`;
    const names = decoded.kind === "index" ? [t("file.offset"), t("file.position")] : [t("file.timestamp"), t("file.offset")];
    return html`<table><thead><tr>${names.map((name) => html`<th>${name}</th>`)}</tr></thead><tbody>${decoded.entries.map(([a, b]) => html`<tr><td>${decoded.kind === "timeindex" ? `${wall(a, language)}` : spaced(a)}</td><td>${spaced(b)}</td></tr>`)}</tbody></table>
      <p class="dim">${t("file.entries", { n: decoded.entries.length })}</p>`;
  }

  content(file) {
    const { decoded, data, size, error, seq } = loaded.value;
    const { as, from, focus } = place.value;
    if (error) return html`<div class="message bad"><b>${error.what ?? t("error.unexpected")}</b><span>${error.todo ?? ""}</span></div>`;
    if (!file) return html`<p class="dim">${t(place.value.file ? "file.gone" : "file.choose")}</p>`;
    if (!file.bytes) return html`<p class="dim">${t("file.empty")}</p>`;
    const turn = (as_) => (place.value = { ...place.value, as: as_, from: 0, focus: null });
    const head = html`<div class="row tight"><span class="seg" role="group" aria-label=${t("file.as_meaning")}>${["meaning", "bytes"].map((one) => html`<button aria-pressed=${one === as} @click=${() => turn(one)}>${t(`file.as_${one}`)}</button>`)}</span><span class="spacer"></span><span class="dim">${t("file.at", { n: spaced(seq) })}</span></div>`;
    if (as === "meaning") return html`${head}${decoded ? this.meaning(decoded, file) : html`<p class="dim">${t("file.loading")}</p>`}`;
    if (!data) return html`${head}<p class="dim">${t("file.loading")}</p>`;
    const page = (to) => (place.value = { ...place.value, from: to, focus: null });
    return html`${head}<hw-hex .data=${data} .from=${from} .fields=${decoded?.kind === "log" ? logFields(decoded.batches) : []} .focus=${focus} .replica=${place.value.replica}></hw-hex>
      <div class="row tight"><button class="btn small" ?disabled=${from === 0} aria-label=${t("file.previous")} @click=${() => page(Math.max(0, from - PAGE_BYTES))}>‹</button>
        <span class="mono dim">${t("file.page", { from: spaced(from), to: spaced(from + data.length), n: spaced(size) })}</span>
        <button class="btn small" ?disabled=${from + data.length >= size} aria-label=${t("file.next")} @click=${() => page(from + PAGE_BYTES)}>›</button></div>`;
  }

  render() {
    const { view } = moment.value;
    const { replica, file: name } = place.value;
    const replicas = Object.keys(view.replicas).sort(byName);
    if (!replicas.length) return html`<p class="empty-note">${t("file.none")}</p>`;
    const { files } = loaded.value;
    const choose = (file) => (place.value = { ...place.value, file, from: 0, focus: null });
    return html`<section class="sec"><label class="field"><span>${t("file.replica")}</span><select @change=${(event) => (place.value = { ...place.value, replica: event.target.value, file: "", from: 0, focus: null })}>${replicas.map((id) => html`<option ?selected=${id === replica}>${id}</option>`)}</select></label>
        <ul class="file-list">${files.map((file) => html`<li><button aria-current=${file.name === name ? "true" : "false"} @click=${() => choose(file.name)}><span class="mono">${file.name}</span><span class="mono dim">${bytes(file.bytes)}</span></button></li>`)}</ul></section>
      <section class="sec content">${this.content(files.find((file) => file.name === name))}</section>`;
  }
}
customElements.define("hw-files", HwFiles);

/** The card of one record: its fields, and where its bytes are. */
class HwRecord extends HwElement {
  #shown = signal({ key: "" });

  async #load(id, offset, seq, key) {
    const replica = moment.peek().view.replicas[id];
    if (!replica) return void (this.#shown.value = { key });
    const known = tailOf(replica).find(({ first, last }) => first <= offset && offset <= last);
    const segment = known?.segment ?? Object.keys(replica.segments).map(Number).sort((a, b) => a - b).findLast((base) => base <= offset);
    if (segment === undefined) return void (this.#shown.value = { key });
    const file = logName(segment);
    try {
      let from = known?.position ?? 0;
      for (let tries = 0; tries < 64; tries++) {
        const { batches } = await fetchDecoded(id, file, seq, from);
        const batch = batches.find((one) => one.base_offset <= offset && offset <= one.last_offset);
        const record = batch?.records.find((one) => one.offset === offset);
        if (record) {
          const { data } = await fetchBytes(id, file, seq, record.position, Math.min(record.size, 256));
          this.#shown.value = { key, batch, record, file, segment, data };
          return;
        }
        const last = batches.at(-1);
        if (!last || last.last_offset >= offset) break;
        from = last.position + last.size;
      }
      this.#shown.value = { key };
    } catch (error) {
      this.#shown.value = { key, error };
    }
  }

  render() {
    const { view, seq } = moment.value;
    const [, name] = split(selection.value);
    const cut = name.lastIndexOf(":");
    const id = name.slice(0, cut);
    const offset = Number(name.slice(cut + 1));
    const replica = view.replicas[id];
    // The bytes of a record never change; what can change is whether it is there.
    const key = `${name}|${replica && offset < replica.log_end_offset && offset >= replica.log_start_offset}|${replica?.cut?.at_us ?? ""}`;
    const shown = this.#shown.value;
    if (shown.key !== key) queueMicrotask(() => this.#shown.peek().key !== key && ((this.#shown.value = { key, loading: true }), this.#load(id, offset, seq, key)));
    const { batch, record, error, data } = shown.key === key ? shown : { };
    const title = html`<div class="row tight"><b class="mono">@${offset}</b><span class="dim">${id}</span><span class="spacer"></span>${replica ? html`<span class="tag ${offset < replica.high_watermark ? "ok" : ""}">${t(offset < replica.high_watermark ? "record.committed" : "record.uncommitted")}</span>` : ""}</div>`;
    if (error) return html`<section class="sec">${title}<p class="bad">${error.what}</p></section>`;
    if (!record) return html`<section class="sec">${title}<p class="dim">${shown.loading ? t("file.loading") : t("record.not_there", { n: offset })}</p></section>`;
    return html`<section class="sec">${title}
        <dl class="kv"><dt>${t("produce.key")}</dt><dd class="wide">${record.key ?? "null"}</dd><dt>${t("produce.value")}</dt><dd class="wide">${record.value ?? "null"}</dd><dt>${t("record.time")}</dt><dd class="wide">${wall(record.timestamp, language)}</dd>
          ${record.headers?.length ? html`<dt>${t("record.headers")}</dt><dd class="wide">${record.headers.map(([header, what]) => `${header}: ${what}`).join(", ")}</dd>` : ""}</dl></section>
      <section class="sec"><h3>${t("record.batch", { from: batch.base_offset, to: batch.last_offset })}<span>e${batch.leader_epoch}</span></h3>
        <dl class="kv"><dt>${t("record.crc")}</dt><dd>${batch.crc.toString(16).padStart(8, "0")} ${batch.crc_ok ? "✓" : "✕"}</dd><dt>${t("replica.position")}</dt><dd>${spaced(batch.position)}</dd><dt>${t("replica.size")}</dt><dd>${batch.size}</dd><dt>${t("record.producer_id")}</dt><dd>${batch.producer_id}</dd></dl></section>
      <section class="sec"><h3>${t("record.in_bytes")}<span><button class="val" @click=${() => openFile(id, shown.segment, record.position)}>${t("replica.files")}</button></span></h3><hw-hex .data=${data} .from=${record.position} .fields=${batch.attributes & 7 ? [] : recordFields(data, record.position)} .focus=${null} .replica=${id}></hw-hex></section>`;
  }
}
customElements.define("hw-record", HwRecord);
