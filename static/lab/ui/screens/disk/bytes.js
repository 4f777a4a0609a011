// A page of a file in hex: fields underlined, decoded beside, and linked to record cells and index entries.
import { fieldAt, fieldsOf, hueOf } from "../../../core/bytes/disk.js";
import { HwElement, html } from "../../kit/element.js";
import { closest, onKey } from "../../kit/events.js";
import { bytes, spaced, wall } from "../../kit/format.js";
import { has, language, t } from "../../kit/i18n.js";
import { fileName } from "./index.js";
import { folderOf, goTo, nameOf, page, place } from "../../store/disk.js";
import { effect, signal } from "../../store/state.js";

/** @import { PageField, Part } from "../../../core/bytes/disk.js" */
/** @import { TemplateResult } from "lit" */
/** @import { KnownPage } from "../../store/disk.js" */

/** @typedef {{ field: number, offset: number | null, part: number }} Pointed */

const ROW = 16;
const MAX_CELLS = 64;
/** @param {number} number @param {number} [digits] */
const hex = (number, digits = 4) => number.toString(16).padStart(digits, "0");
/** @param {number} byte */
const two = (byte) => hex(byte, 2);
/** @param {number} byte */
const readable = (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·");

/** @type {Pointed} */
const NOTHING = { field: -1, offset: null, part: -1 };
/** What the pointer is over: a field by its position, a record by its offset, an index entry by the byte it points at. */
const pointed = signal(NOTHING);

/** The sentence about a field. @param {PageField} field */
function sentenceOf({ says, name, values = {} }) {
  const key = `field.${says}`;
  const filled = { ...values, time: "ms" in values ? wall(Number(values.ms), language) : "" };
  if (has(key)) return t(key, filled);
  return t(says.startsWith("property.") ? "field.property.other" : "field.other", { name });
}

/**
 * Scrolls a list, and nothing around it, until a thing in it is well in sight.
 * @param {Element | null} list
 * @param {Element | null} thing
 */
function reveal(list, thing) {
  if (!list || !thing) return;
  const [outer, inner] = [list.getBoundingClientRect(), thing.getBoundingClientRect()];
  const margin = Math.min(60, outer.height / 4);
  if (inner.top < outer.top + margin || inner.bottom > outer.bottom - margin) list.scrollTop += inner.top - outer.top - outer.height / 3;
}

/** @param {string} text */
const fromHex = (text) => Uint8Array.from({ length: text.length / 2 }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16));

class HwDiskBytes extends HwElement {
  /** The page that is decoded, its bytes and its fields. @type {KnownPage | null} */
  #page = null;
  #data = new Uint8Array();
  /** @type {PageField[]} */
  #fields = [];
  /** The byte and the page that were scrolled to last. */
  #seen = "";
  #unmark = () => {};

  connectedCallback() {
    super.connectedCallback();
    this.#unmark = effect(() => this.#mark(pointed.value));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#unmark();
    pointed.value = NOTHING;
  }

  updated() {
    this.#mark(pointed.peek());
    const now = `${place.peek().at}|${this.#page?.from}`;
    if (now !== this.#seen) {
      reveal(this.querySelector(".bytes-hex"), this.querySelector(".disk-hex [data-now]"));
      reveal(this.querySelector(".parts"), this.querySelector(".parts [data-now]"));
    }
    this.#seen = now;
  }

  // A thousand bytes: what is pointed at is marked in place, without a new rendering.
  /** @param {Pointed} pointed */
  #mark({ field, offset, part }) {
    for (const one of this.querySelectorAll(".pointed, .near")) one.classList.remove("pointed", "near");
    /** @param {string} what @param {string} name */
    const mark = (what, name) => this.querySelectorAll(what).forEach((one) => one.classList.add(name));
    if (offset !== null) mark(`[data-o="${offset}"]`, "near");
    if (part >= 0) mark(`[data-part="${part}"]`, "near");
    if (field >= 0) mark(`[data-f="${field}"]`, "pointed");
  }

  /** @param {Event} event */
  #point(event) {
    const { f, o, part } = closest(event, "[data-f], [data-o], [data-part]")?.dataset ?? {};
    const field = f === undefined ? -1 : Number(f);
    const of = field >= 0 ? this.#fields[field] : null;
    const offset = o !== undefined ? Number(o) : (of?.offset ?? null);
    const old = pointed.peek();
    const next = { field, offset, part: part !== undefined ? Number(part) : of && of.offset === undefined ? of.part : -1 };
    if (old.field !== next.field || old.offset !== next.offset || old.part !== next.part) pointed.value = next;
  }

  /** @param {KeyboardEvent} event @param {KnownPage} page */
  #walk(event, { from, to, size, page: length }) {
    const now = fieldAt(this.#fields, place.value.at);
    /** @param {number} at */
    const go = (at) => goTo({ at: Math.min(Math.max(at, 0), Math.max(0, size - 1)) });
    const next = () => (now < this.#fields.length - 1 ? go(this.#fields[now + 1].position) : to < size && go(to));
    const back = () => (now > 0 ? go(Math.max(this.#fields[now - 1].position, from)) : from > 0 && go(from - 1));
    /** @type {Record<string, () => unknown>} */
    const keys = {
      ArrowRight: next, ArrowDown: next, ArrowLeft: back, ArrowUp: back,
      Home: () => go(0), End: () => go(size - 1),
      PageDown: () => to < size && go(to), PageUp: () => from > 0 && go(Math.max(0, from - length)),
      Enter: () => this.#follow(this.#fields[now]),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }

  /** From an index entry to the batch that it names. @param {PageField | undefined} field */
  #follow(field) {
    if (field?.target === undefined) return;
    const { path } = place.value;
    goTo({ path: path.replace(/\.index/, ".log"), at: field.target });
  }

  // --- the pieces --------------------------------------------------------------------------------------------------

  /** @param {KnownPage} page */
  head({ size, from, to, page: length }) {
    const { path } = place.value;
    /** @param {string} sign @param {string} label @param {number} at @param {boolean} isEnd */
    const turn = (sign, label, at, isEnd) => html`<button class="btn small" ?disabled=${isEnd} aria-label=${label} title=${label}
      @click=${() => goTo({ at })}>${sign}</button>`;
    return html`<div class="bytes-head">
      <span class="mono path">${folderOf(path) ? html`<span class="dim">${folderOf(path)}/</span>` : ""}${fileName(nameOf(path))}</span>
      <span class="spacer"></span>
      <span class="mono dim">${t("disk.page", { from: hex(from), to: hex(to), n: spaced(size) })}</span>
      <span class="row tight">${turn("‹", t("file.previous"), Math.max(0, from - length), from === 0)}
        ${turn("›", t("file.next"), to, to >= size)}</span></div>`;
  }

  /** The batches of the page as cells, an offset each, with the index entries that name them. @param {KnownPage} page */
  cells({ parts, index, time_index, from, to }) {
    const { path } = place.value;
    /** @param {string} suffix @param {number} slot */
    const side = (suffix, slot) => () => goTo({ path: path.replace(/\.log/, suffix), at: slot });
    /** @param {Part} part @param {number} place_ */
    const batch = (part, place_) => {
      const records = (part.records ?? []).filter(({ position, size }) => size === 0 || (position < to && position + size > from));
      const entry = index.find(({ position }) => position === part.position);
      const times = time_index.filter(({ offset }) => offset >= (part.first_offset ?? 0) && offset <= (part.last_offset ?? -1));
      return html`<div class="batch-cells" data-part=${place_}>
        <div class="flags">
          <button class="range" data-part=${place_} @click=${() =>
            goTo({ at: Math.max(part.position, from) })}>${part.first_offset}–${part.last_offset}</button>
          ${part.fault ? html`<span class="tag bad">${t(`disk.fault.${part.fault}`)}</span>` : ""}
          ${entry ? html`<button class="flag index" data-part=${place_}
            title=${t("disk.index_flag", { n: entry.slot, offset: entry.offset, at: spaced(entry.position) })}
            @click=${side(".index", entry.slot * 8)}>index ${entry.offset}→${entry.position}</button>` : ""}
          ${times.map(({ slot, timestamp, offset }) => html`<button class="flag time" data-o=${offset}
            title=${t("disk.time_flag", { n: slot, offset, time: wall(timestamp, language) })}
              @click=${side(".timeindex", slot * 12)}>time …→${offset}</button>`)}
        </div>
        <div class="cells">${records.slice(0, MAX_CELLS).map(({ offset, position, size }) => html`<button
            class="cell ${size ? "" : "packed"} ${String(offset) === place.value.find ? "it" : ""}" data-o=${offset}
              @click=${() => goTo({ at: Math.max(position, from) })}>${offset}</button>`)}
          ${records.length > MAX_CELLS ? html`<span class="dim">+${records.length - MAX_CELLS}</span>` : ""}</div>
      </div>`;
    };
    const batches = parts.map((part, at) => ({ part, at })).filter(({ part }) => part.kind === "batch");
    return batches.length ? html`<div class="strip" @mouseover=${this.#point}
      @focusin=${this.#point}>${batches.map(({ part, at }) => batch(part, at))}</div>` : "";
  }

  /** @param {KnownPage} page @param {number} at @param {number} now */
  byte({ from, flushed }, at, now) {
    const field = fieldAt(this.#fields, at);
    const of = this.#fields[field];
    const isNow = of && at === Math.max(of.position, from) && field === now;
    const names = [of ? hueOf(of.name) : "", field === now ? "now" : "", at >= flushed ? "dirty" : ""].filter(Boolean).join(" ");
    return html`<i class=${names} data-f=${field} data-o=${of?.offset ?? ""} data-part=${of && of.offset === undefined ? of.part : ""}
      ?data-now=${isNow} data-at=${at}>${two(this.#data[at - from])}</i>`;
  }

  /** @param {KnownPage} page @param {number} now */
  hex(page, now) {
    const { from, to, flushed, size } = page;
    /** @type {TemplateResult[]} */
    const rows = [];
    for (let start = from; start < to; start += ROW) {
      const end = Math.min(start + ROW, to);
      if (flushed < size && flushed >= start && flushed < end)
        rows.push(html`<p class="dirty-line">${t("disk.not_fsynced", { at: hex(flushed) })}</p>`);
      const places = Array.from({ length: end - start }, (_, n) => start + n);
      rows.push(html`<span class="a">${hex(start)}</span><span class="b">${places.map((at) => this.byte(page, at, now))}</span>
        <span class="c" aria-hidden="true">${places.map((at) => readable(this.#data[at - from])).join("")}</span>`);
    }
    const current = this.#fields[now];
    const label = current ? `${current.name} ${current.value}. ${sentenceOf(current)}` : t("disk.no_field");
    /** @param {Event} event */
    const jump = (event) => {
      const byte = closest(event, "[data-at]");
      if (byte) goTo({ at: Number(byte.dataset.at) });
    };
    return html`<div class="disk-hex hex" tabindex="0" role="group" aria-roledescription=${t("disk.hex_role")}
      aria-label=${t("disk.hex_label")}
        aria-describedby="disk-field" @keydown=${onKey((event) => this.#walk(event, page))} @mouseover=${this.#point}
          @mouseleave=${() => (pointed.value = NOTHING)} @click=${jump}>${rows}</div>
      <p class="sr" id="disk-field" role="status">${label}</p>`;
  }

  /** @param {PageField | undefined} field */
  card(field) {
    if (!field) return html`<div class="field-card"><p class="dim">${t("disk.no_field")}</p></div>`;
    const { name, value, position, length, target } = field;
    return html`<div class="field-card ${hueOf(name)}">
      <div class="row tight"><b class="mono">${name}</b><span class="spacer"></span>
        <span class="mono dim">${t("disk.field_place", { at: hex(position), n: length })}</span></div>
      <p class="mono value">${value}</p>
      <p>${sentenceOf(field)}</p>
      ${target === undefined ? "" : html`<button class="btn small"
        @click=${() => this.#follow(field)}>${t("disk.follow", { at: spaced(target) })}</button>`}
    </div>`;
  }

  /** @param {Part} part @param {number} at @param {number} now @param {number} from the first byte of the page */
  describe(part, at, now, from) {
    const { kind, first_offset, last_offset, position, size, fault } = part;
    const fields = this.#fields.map((field, place_) => ({ field, at: place_ })).filter(({ field }) => field.part === at);
    if (!fields.length) return "";
    const range = first_offset === undefined ? "" : first_offset === last_offset ? first_offset : `${first_offset}–${last_offset}`;
    return html`<section class="part" data-part=${at}><h3><span>${t(`disk.part.${kind}`)} <b class="mono">${range}</b></span>
        ${fault ? html`<span class="tag bad">${t(`disk.fault.${fault}`)}</span>` : ""}
        <span class="mono dim">${hex(position)} · ${bytes(size)}</span></h3>
      ${this.rows(fields, now, from)}</section>`;
  }

  /**
   * Rows of fields; those of a record are together, after its offset.
   * @param {{ field: PageField, at: number }[]} fields
   * @param {number} now
   * @param {number} from the first byte of the page
   */
  rows(fields, now, from) {
    /** @type {TemplateResult[]} */
    const rows = [];
    /** @type {number | undefined} */
    let record;
    for (const { field, at } of fields) {
      const isRecord = field.offset !== undefined && field.says.startsWith("record.");
      if (isRecord && field.offset !== record) {
        rows.push(html`<div class="record-row" data-o=${field.offset}>${t("hex.record", { n: field.offset })}</div>`);
        record = field.offset;
      }
      rows.push(html`<button class="field-row ${hueOf(field.name)} ${at === now ? "on" : ""} ${isRecord ? "of-record" : ""}" data-f=${at}
        data-o=${field.offset ?? ""} ?data-now=${at === now} title=${sentenceOf(field)} tabindex="-1"
          @click=${() => goTo({ at: Math.max(field.position, from) })}>
        <i></i><span class="mono">${field.name}</span><span class="mono value">${field.value}</span></button>`);
    }
    return rows;
  }

  render() {
    const shown = page.value;
    const { broker, path, at } = place.value;
    if (!shown || shown.path !== path || shown.broker !== broker) return html`<p
      class="empty-note">${t(path ? "file.loading" : "file.choose")}</p>`;
    if (shown.missing) return html`<p class="empty-note">${t("file.gone")}</p>`;
    if (shown.error) return html`<div class="message bad"><b>${shown.error.what
      ?? t("error.unexpected")}</b><span>${shown.error.todo}</span></div>`;
    if (this.#page !== shown) {
      this.#page = shown;
      this.#data = fromHex(shown.bytes);
      this.#fields = fieldsOf(shown.parts);
    }
    if (!shown.size) return html`${this.head(shown)}<p class="empty-note">${t("file.empty")}</p>`;
    const now = fieldAt(this.#fields, at);
    return html`${this.head(shown)}${this.cells(shown)}
      <div class="bytes">
        <div class="bytes-hex">${this.hex(shown, now)}</div>
        <div class="bytes-fields" @mouseover=${this.#point} @mouseleave=${() => (pointed.value = NOTHING)}>
          ${this.card(this.#fields[now])}
          <div class="parts" tabindex="0" aria-label=${t("disk.fields")}>${shown.parts.map((part, place_) => this.describe(part, place_,
            now, shown.from))}</div>
        </div>
      </div>`;
  }
}
customElements.define("hw-disk-bytes", HwDiskBytes);

