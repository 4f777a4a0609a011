// The cells of one lane. What lies below the digits is one path for each look: a record that comes, or is committed,
// changes a few attributes of the lane instead of several elements of its own.

import { CELL_H, cellState } from "../core/layout/strips.js";
import { epochAt } from "../core/selectors.js";
import { s, set, text } from "./svg.js";

/** @import { CellState, Lane, PartitionPlace, StripsLayout } from "../core/layout/strips.js" */

/** Digits are placed from an origin that moves in steps of this many offsets, so that coordinates stay small. */
const ORIGIN_STEP = 512;
/** Cells of a smaller pitch than this have no digits. */
const PITCH_OF_DIGITS = 12;

/** @typedef {"plate" | "band" | "strike" | "dot"} Shape */

/** What is drawn of a shape at a slot, relative to the row. @param {Shape} shape @param {number} slot @param {number} pitch */
function outline(shape, slot, pitch) {
  const large = pitch > PITCH_OF_DIGITS;
  const w = large ? pitch - 2 : pitch - 1;
  const x = slot * pitch;
  switch (shape) {
    case "plate":
      return roundRect(x + 0.5, 0.5, w - 1, CELL_H - 1, large ? 3 : 1.5);
    case "band":
      return roundRect(x + (large ? 2.5 : 1), CELL_H - 3.6, Math.max(2, w - (large ? 5 : 2)), 2, 1);
    case "strike":
      return `M${(x + 3).toFixed(1)} ${CELL_H - 4}L${(x + w - 3).toFixed(1)} 4`;
    case "dot":
      return `M${(x + w / 2).toFixed(1)} ${CELL_H / 2 + 0.5}h0`;
  }
}

/** @param {number} x @param {number} y @param {number} w @param {number} h @param {number} r */
function roundRect(x, y, w, h, r) {
  const right = (w - 2 * r).toFixed(1);
  const down = (h - 2 * r).toFixed(1);
  const corner = (/** @type {number} */ dx, /** @type {number} */ dy) => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
  return `M${(x + r).toFixed(1)} ${y}h${right}${corner(r, r)}v${down}${corner(-r, r)}h-${right}${corner(-r, -r)}v-${down}${corner(r, -r)}z`;
}

/** Outlines by shape and pitch, then by slot. @type {Map<string, string[]>} */
const outlines = new Map();

/** The outlines of a shape from slot 0 on. @param {Shape} shape @param {number} pitch @param {number} slots */
function outlinesOf(shape, pitch, slots) {
  const key = `${shape} ${pitch}`;
  let known = outlines.get(key);
  if (!known) outlines.set(key, (known = []));
  while (known.length < slots) known.push(outline(shape, known.length, pitch));
  return known;
}

/** Digits of one record; its element counts as the cell. */
class Digits {
  root = s("text", { "text-anchor": "middle", y: 12.6 });
  #offset = NaN;
  #state = "";
  #pitch = 0;
  #origin = 0;

  /** @param {number} offset @param {CellState} state @param {number} pitch @param {number} origin */
  update(offset, state, pitch, origin) {
    if (offset === this.#offset && state === this.#state && pitch === this.#pitch && origin === this.#origin) return;
    this.#offset = offset;
    this.#state = state;
    this.#pitch = pitch;
    this.#origin = origin;
    set(this.root, { class: `hw-cell ${state}` });
    const words = pitch > PITCH_OF_DIGITS && state !== "deleted" && state !== "free" ? String(offset) : "";
    text(this.root, words);
    if (words)
      set(this.root, { x: ((offset - origin + 0.5) * pitch - 1).toFixed(1), "font-size": words.length > 4 ? 6.6 : words.length > 3 ? 7.8 : 9.5 });
  }
}

export class Cells {
  /** @type {Record<CellState, SVGElement>} */
  #plates = { committed: s("path", { class: "hw-plate committed" }), open: s("path", { class: "hw-plate open" }),
    truncated: s("path", { class: "hw-plate truncated" }), deleted: s("path", { class: "hw-plate deleted" }), free: s("path", { class: "hw-plate free" }) };
  /** By the epoch's parity. */
  #bands = [s("path", { class: "hw-band" }), s("path", { class: "hw-band odd" })];
  #strikes = s("path", { class: "hw-strike" });
  #row = s("g");
  /** @type {Digits[]} */
  #digits = [];
  root = s("g", {}, ...Object.values(this.#plates), ...this.#bands, this.#row, this.#strikes);

  /** @param {StripsLayout} layout @param {PartitionPlace} place @param {Lane} lane @param {number} at_us */
  update({ x0, slots, pitch }, { first }, { cell_y, replica }, at_us) {
    const origin = Math.floor(first / ORIGIN_STEP) * ORIGIN_STEP;
    set(this.root, { transform: `translate(${x0},${cell_y})` });
    set(this.#row, { transform: `translate(${((origin - first) * pitch).toFixed(1)},0)` });
    while (this.#digits.length < slots) this.#row.append(this.#digits[this.#digits.push(new Digits()) - 1].root);
    while (this.#digits.length > slots) this.#digits.pop()?.root.remove();

    const plates = outlinesOf("plate", pitch, slots);
    const bands = outlinesOf("band", pitch, slots);
    const paths = { committed: "", open: "", truncated: "", deleted: "", free: "" };
    const banded = ["", ""];
    let struck = "";
    const dots = outlinesOf("dot", pitch, slots);
    const strikes = outlinesOf("strike", pitch, slots);
    for (let slot = 0; slot < slots; slot++) {
      const offset = first + slot;
      const state = cellState(replica, offset, at_us);
      paths[state] += state === "free" ? dots[slot] : plates[slot];
      if (state === "committed" || state === "open") banded[Math.max(0, epochAt(replica?.epochs ?? [], offset)) % 2] += bands[slot];
      else if (state === "truncated") struck += strikes[slot];
      this.#digits[offset % slots].update(offset, state, pitch, origin);
    }
    for (const state in paths) set(this.#plates[/** @type {CellState} */ (state)], { d: paths[/** @type {CellState} */ (state)] });
    this.#bands.forEach((band, i) => set(band, { d: banded[i] }));
    set(this.#strikes, { d: struck });
  }
}
