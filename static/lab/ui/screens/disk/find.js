// "Find offset N": the floor segment, the binary search in the index and the scan, one picture after the other.
import { framesOf, rangeAt, slotsShown } from "../../../core/bytes/disk.js";
import { HwElement, html } from "../../kit/element.js";
import { onSubmit } from "../../kit/events.js";
import { bytes, spaced, wall } from "../../kit/format.js";
import { language, t } from "../../kit/i18n.js";
import { EXAMPLE, fetchDisk, folderOf, goTo, isThere, pathOf, place, tree } from "../../store/disk.js";
import { logName } from "../../store/files.js";
import { effect, masked, moment, signal } from "../../store/state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Frame, Lookup, Scanned, Search } from "../../../core/bytes/disk.js" */
/** @import { Refusal } from "../../../core/refusal.js" */
/** @import { FullPlace } from "../../store/disk.js" */

/**
 * @typedef {{ key: string, found?: Lookup, error?: Partial<Refusal> }} Answer
 * @typedef {"done" | "now" | "ahead"} StepState
 * @typedef {"offset" | "timestamp"} By
 */

const FRAME_MS = 1100;
const MAX_SLOTS = 48;
const EXAMPLE_OFFSET = 2490;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** "2490" or "t1700000000000" -> the parameters of the request. @param {string} find @returns {Record<string, string>} */
const wantedOf = (find) => (find.startsWith("t") ? { timestamp: find.slice(1) } : { offset: find });

class HwDiskFind extends HwElement {
  /** @type {Signal<Answer>} */
  #answer = signal({ key: "" });
  #frame = signal(0);
  #playing = signal(false);
  #by = signal(/** @type {By} */ ("offset"));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #stop = () => {};
  /** What was looked up last; with the number of the event, and without. */
  #key = "";
  #question = "";
  /** Whether the visitor has chosen between offset and timestamp. */
  #hasChosen = false;

  connectedCallback() {
    super.connectedCallback();
    this.#stop = effect(() => this.#follow(place.value, tree.value));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#stop();
    clearTimeout(this.#timer);
  }

  /**
   * Repeats the lookup; the walk restarts when the question changes, not when the log grows.
   * @param {FullPlace} place
   * @param {{ seq: number }} tree
   */
  #follow({ broker, path, find }, { seq }) {
    const folder = folderOf(path);
    if (!find || !folder || !isThere(folder)) return;
    const question = [broker, folder, find].join("|");
    const key = `${question}|${broker === EXAMPLE ? 0 : seq}`;
    if (this.#key === key) return;
    const isNew = this.#question !== question;
    [this.#key, this.#question] = [key, question];
    queueMicrotask(async () => {
      /** @type {Answer} */
      const answer = await fetchDisk("lookup", { folder, ...wantedOf(find) })
        .then((found) => ({ key, found }), (error) => ({ key, error }));
      if (this.#key !== key) return;
      this.#answer.value = answer;
      const last = answer.found ? framesOf(answer.found).length - 1 : 0;
      if (!isNew) this.#frame.value = Math.min(this.#frame.peek(), last);
      else if (calm.matches) this.#go(last, false);
      else this.#go(0, true);
    });
  }

  /** @param {number} frame @param {boolean} playing */
  #go(frame, playing) {
    clearTimeout(this.#timer);
    const found = this.#answer.peek().found;
    const last = found ? framesOf(found).length - 1 : 0;
    this.#frame.value = Math.min(Math.max(frame, 0), last);
    this.#playing.value = playing && this.#frame.value < last;
    if (this.#playing.value) this.#timer = setTimeout(() => this.#go(this.#frame.peek() + 1, true), FRAME_MS);
  }

  /** @param {HTMLFormElement} form */
  #submit(form) {
    const text = String(new FormData(form).get("what")).trim();
    if (!/^\d{1,18}$/.test(text)) return;
    const find = this.#by.value === "timestamp" ? `t${text}` : text;
    this.#question = "";
    this.#key = "";
    goTo({ find });
  }

  // --- the pieces --------------------------------------------------------------------------------------------------

  form() {
    const { find, broker } = place.value;
    const by = find.startsWith("t") && !this.#hasChosen ? "timestamp" : this.#by.value;
    const folder = tree.value.folders.find(({ name }) => name === folderOf(place.value.path));
    /** @param {By} name */
    const choose = (name) => () => {
      this.#hasChosen = true;
      this.#by.value = name;
      this.requestUpdate();
    };
    const usual = by === "timestamp" ? String(moment.value.view.run.start_wall_ms ?? 0)
      : String(broker === EXAMPLE ? EXAMPLE_OFFSET : Math.max(0, (folder?.log_end_offset ?? 1) - 1));
    const shownValue = find && find.startsWith("t") === (by === "timestamp") ? find.replace(/^t/, "") : usual;
    return html`<form class="find-form" @submit=${onSubmit((form) => this.#submit(form))}>
      <span class="seg" role="group" aria-label=${t("disk.find.by")}>${/** @type {const} */ (["offset", "timestamp"]).map((name) => html`
        <button type="button" aria-pressed=${by === name} @click=${choose(name)}>${t(`file.${name}`)}</button>`)}</span>
      <input class="mono" name="what" inputmode="numeric" autocomplete="off" aria-label=${t(`disk.find.${by}`)} pattern="[0-9]{1,18}"
        required .value=${shownValue}>
      <button class="btn pri">${t("disk.find.go")}</button>
      <span class="dim">${t("disk.find.in", { folder: folder?.name ?? "—", from: folder?.log_start_offset ?? 0,
        to: Math.max(0, (folder?.log_end_offset ?? 0) - 1) })}</span>
    </form>`;
  }

  /** @param {number} frame @param {number} last */
  transport(frame, last) {
    /** @param {string} label @param {string} sign @param {() => void} act @param {boolean} [off] */
    const button = (label, sign, act, off = false) => html`<button class="btn small" title=${label} aria-label=${label} ?disabled=${off}
      @click=${act}>${sign}</button>`;
    const playing = this.#playing.value;
    const toggle = () => (playing ? this.#go(frame, false) : this.#go(frame === last ? 0 : frame, true));
    return html`<div class="row tight find-steps" role="group" aria-label=${t("disk.find.steps")}>
      ${button(t("disk.find.first"), "|◀", () => this.#go(0, false), frame === 0)}
      ${button(t("transport.back"), "◀", () => this.#go(frame - 1, false), frame === 0)}
      ${button(t(playing ? "transport.pause" : "transport.play"), playing ? "❚❚" : "▶", toggle)}
      ${button(t("disk.find.next"), "▶|", () => this.#go(frame + 1, false), frame === last)}
      <span class="dim">${t("disk.find.step", { at: frame + 1, n: last + 1 })}</span></div>`;
  }

  /**
   * @param {string} title
   * @param {number} number
   * @param {StepState} state
   * @param {unknown} said
   * @param {unknown} body
   */
  step(title, number, state, said, body) {
    return html`<section class="find-step ${state}"><h3><span class="n">${state === "done" ? "✓" : number}</span>${title}</h3>
      ${state === "ahead" ? "" : html`<p>${said}</p>${body}`}</section>`;
  }

  /** @param {Lookup} found */
  segments({ segments, floor, offset }) {
    return html`<div class="segments">${segments.map((base) =>
      html`<div class="segment ${base === floor ? "it" : ""} ${offset >= 0 && base > offset ? "above" : ""}">
      <b class="mono">${base}</b><span class="mono dim">.log</span></div>`)}</div>`;
  }

  /** @param {Search} search @param {number} at */
  index(search, at) {
    const [low, high] = rangeAt(search, at);
    const probe = search.probes[at];
    const isTime = search.file === "timeindex";
    /** @type {Map<number, { key: number, value: number }>} */
    const known = new Map(search.probes.slice(0, at + 1).map((one) => [one.slot, one]));
    if (!probe && search.slot >= 0) known.set(search.slot, { key: search.key, value: search.value });
    /** @param {number} key */
    const text = (key) => (isTime ? wall(key, language) : key);
    const slots = slotsShown(search, MAX_SLOTS);
    return html`<div class="slots">${slots.map((slot, place_) => {
      const entry = known.get(slot);
      const names = ["slot", slot < low || slot > high ? "out" : "", probe?.slot === slot ? "middle" : "", !probe && slot === search.slot
        ? "it" : ""];
      return html`${place_ && slots[place_ - 1] !== slot - 1 ? html`<span class="gap">…</span>` : ""}
        <div class=${names.join(" ")}><i class="mono">${slot}</i>${entry
          ? html`<b class="mono">${text(entry.key)}</b><span class="mono dim">${isTime ? "→" : "@"}${entry.value}</span>` : ""}</div>`;
    })}</div>`;
  }

  /** The sentence for a step of a binary search. @param {Search} search @param {number} at @param {number} wanted */
  saidOfSearch(search, at, wanted) {
    const isTime = search.file === "timeindex";
    /** @param {number} key */
    const text = (key) => (isTime ? wall(key, language) : key);
    if (!search.entries) return t("disk.find.no_entries");
    const probe = search.probes[at];
    if (!probe) {
      if (search.slot < 0) return t("disk.find.all_above");
      return t(isTime ? "disk.find.time_entry" : "disk.find.entry",
        { slot: search.slot, key: text(search.key), value: search.value, n: search.probes.length });
    }
    const order = ["disk.find.below", "disk.find.equal", "disk.find.above"][probe.order + 1];
    return t(order, { low: probe.low, high: probe.high, slot: probe.slot, key: text(probe.key), wanted: text(wanted) });
  }

  /** @param {Lookup} lookup @param {number} at @param {boolean} isFound */
  scan({ scanned, found, skipped }, at, isFound) {
    const seen = scanned.slice(0, at + 1);
    /** @param {Scanned} batch @param {number} place_ */
    const batch = ({ position, size, base_offset, last_offset, is_it }, place_) =>
      html`<div class="scanned ${place_ === at && !isFound ? "middle" : ""} ${is_it ? "it" : ""}">
      <b class="mono">${base_offset}–${last_offset}</b><span class="mono dim">@${position} · ${bytes(size)}</span></div>`;
    const last = seen.at(-1);
    const cells = [];
    if (isFound && last?.is_it && found >= 0)
      for (let offset = last.base_offset; offset <= Math.min(last.last_offset, found + 8); offset++)
        cells.push(html`<span class="cell ${offset < found ? "skipped" : offset === found ? "it" : ""}">${offset}</span>`);
    return html`<div class="scan">${seen.map(batch)}</div>
      ${cells.length ? html`<div class="cells" aria-label=${t("disk.find.skipped", { n: skipped })}>${cells}</div>` : ""}`;
  }

  /** @param {Lookup} found @param {number} at */
  saidOfScan({ scanned, offset, timestamp, cut_short }, at) {
    const batch = scanned[at];
    if (!batch) return t("disk.find.nothing_there");
    const wanted = timestamp >= 0 ? wall(timestamp, language) : offset;
    const last = timestamp >= 0 ? wall(batch.max_timestamp, language) : batch.last_offset;
    if (cut_short && at === scanned.length - 1) return t("disk.find.cut_short", { n: scanned.length });
    return t(batch.is_it ? "disk.find.batch_it" : "disk.find.batch_next", { last, wanted, at: spaced(batch.position) });
  }

  /** @param {Lookup} found */
  found(found) {
    const { found: offset, scanned, skipped, floor } = found;
    const last = scanned.at(-1);
    if (offset < 0 || !last) return t("disk.find.none");
    const path = pathOf(folderOf(place.value.path), logName(floor));
    const show = () => goTo({ mode: "bytes", path, at: last.position, from: scanned[0].position });
    return html`${t("disk.find.done", { offset, n: skipped, batches: scanned.length,
      read: spaced(scanned.reduce((sum, { size }) => sum + size, 0)) })}
      <button class="btn small" @click=${show}>${t("disk.find.show")}</button>`;
  }

  /** @param {Lookup} found */
  walk(found) {
    const frames = framesOf(found);
    const frame = Math.min(this.#frame.value, frames.length - 1);
    const now = frames[frame];
    /** @type {Frame["step"][]} */
    const order = ["segment", "time", "index", "scan", "found"];
    /** @param {Frame["step"]} step @returns {StepState} */
    const stateOf = (step) => {
      const [mine, current] = [order.indexOf(step), order.indexOf(now.step)];
      return mine < current ? "done" : mine === current ? "now" : "ahead";
    };
    /** @param {Frame["step"]} step @param {number} most */
    const at = (step, most) => (now.step === step ? now.at : order.indexOf(step) < order.indexOf(now.step) ? most : -1);
    const wanted = found.timestamp >= 0 ? wall(found.timestamp, language) : found.offset;
    const { time_search: time, search, scanned } = found;
    const timeAt = time ? at("time", time.probes.length) : -1;
    const indexAt = search ? at("index", search.probes.length) : -1;
    const scanAt = at("scan", scanned.length - 1);
    const isFound = now.step === "found";
    const target = time ? time.value : found.offset;
    const segmentSaid = found.floor < 0 ? "disk.find.no_segment" : time || found.timestamp >= 0 ? "disk.find.time_segment"
      : "disk.find.floor_segment";
    return html`${this.transport(frame, frames.length - 1)}
      <div class="find-walk" role="status" aria-live="polite">
        ${this.step(t(found.timestamp >= 0 ? "disk.find.late_segment" : "disk.find.segment"), 1, stateOf("segment"),
          t(segmentSaid, { wanted, floor: found.floor }), this.segments(found))}
        ${time ? this.step(t("disk.find.time"), 2, stateOf("time"), this.saidOfSearch(time, timeAt, found.timestamp),
          this.index(time, timeAt)) : ""}
        ${search ? this.step(t("disk.find.index"), time ? 3 : 2, stateOf("index"), this.saidOfSearch(search, indexAt, target),
          this.index(search, indexAt)) : ""}
        ${search ? this.step(t("disk.find.scan"), time ? 4 : 3, isFound && scanned.length ? "done" : stateOf("scan"),
          this.saidOfScan(found, scanAt), this.scan(found, scanAt, isFound)) : ""}
        ${isFound ? html`<p class="find-done ${found.found < 0 ? "bad" : ""}">${this.found(found)}</p>` : ""}
      </div>`;
  }

  render() {
    const { found, error } = this.#answer.value;
    const { path, find, broker } = place.value;
    if (!folderOf(path)) return html`<p class="empty-note">${t("disk.find.choose")}</p>`;
    if (masked.value && broker !== EXAMPLE) return html`<p class="empty-note">${t("disk.masked")}</p>`;
    return html`${this.form()}
      ${error ? html`<div class="message bad"><b>${error.what ?? t("error.unexpected")}</b><span>${error.todo}</span></div>`
        : found && find ? this.walk(found)
        : html`<p class="find-intro">${t("disk.find.intro")}</p>
          ${place.value.broker === EXAMPLE ? "" : html`<p class="find-intro"><button class="btn small"
            @click=${() => goTo({ broker: EXAMPLE, path: pathOf("orders-0", logName(0)),
              find: String(EXAMPLE_OFFSET) })}>${t("disk.find.example")}</button></p>`}`}`;
  }
}
customElements.define("hw-disk-find", HwDiskFind);
