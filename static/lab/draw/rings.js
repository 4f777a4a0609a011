// Rings around what differs between two drawings of strips: cells, log ends, high watermarks, states in ZooKeeper.

import { CELL_H, offsetX } from "../core/layout/strips.js";
import { rangesOf } from "../core/view/compare.js";
import { Keyed, s, set } from "./svg.js";

/** @import { Lane, PartitionPlace, StripsLayout } from "../core/layout/strips.js" */
/** @import { Differences } from "../core/view/compare.js" */

/** @typedef {{ key: string, x: number, y: number, w: number, h: number }} Ring */

export class Rings {
  root = s("g", { class: "hw-rings", "aria-hidden": "true" });
  /** @type {Differences | null} */
  differences = null;
  /** @type {Keyed<{ root: SVGElement }>} */
  #rings = new Keyed(this.root, () => ({ root: s("rect", { class: "hw-differs", rx: 4 }) }));

  /** @param {StripsLayout} layout */
  draw(layout) {
    const { differences } = this;
    const rings = differences ? layout.partitions.flatMap((place) => ringsOf(differences, layout, place)) : [];
    this.#rings.sync(rings.map(({ key }) => key), ({ root }, _, i) => {
      const { x, y, w, h } = rings[i];
      set(root, { x: x.toFixed(1), y: y.toFixed(1), width: w.toFixed(1), height: h.toFixed(1) });
    });
  }
}

/** @param {Differences} differences @param {StripsLayout} layout @param {PartitionPlace} place @returns {Ring[]} */
function ringsOf(differences, layout, place) {
  /** @type {Ring[]} */
  const rings = [];
  if (differences.partitions.has(place.id)) rings.push({ key: place.id, x: 5, y: place.y + 3, w: layout.columns.log_end - 40, h: 17 });
  if (place.open) for (const lane of place.lanes) rings.push(...ringsOfLane(differences, layout, place, lane));
  return rings;
}

/** @param {Differences} differences @param {StripsLayout} layout @param {PartitionPlace} place @param {Lane} lane @returns {Ring[]} */
function ringsOfLane(differences, layout, place, lane) {
  const { id, cell_y, replica } = lane;
  const fields = differences.fields.get(id) ?? new Set();
  /** @type {Ring[]} */
  const rings = [];
  if (fields.has("role")) rings.push({ key: `${id} role`, x: 8, y: cell_y, w: layout.x0 - 16, h: CELL_H });
  const number = (/** @type {string} */ field, /** @type {number} */ right, /** @type {number} */ value) => {
    const w = String(value).length * 7 + 9;
    if (fields.has(field)) rings.push({ key: `${id} ${field}`, x: right - w + 4, y: cell_y + 1, w, h: CELL_H - 2 });
  };
  number("log_end_offset", layout.columns.log_end, replica?.log_end_offset ?? 0);
  number("high_watermark", layout.columns.high_watermark, replica?.high_watermark ?? 0);
  const last = place.first + layout.slots - 1;
  const offsets = [...(differences.records.get(id) ?? [])].filter((offset) => offset >= place.first && offset <= last);
  for (const [from, to] of rangesOf(offsets))
    rings.push({ key: `${id} ${from}`, x: offsetX(layout, place, from) - 1.5, y: cell_y - 1.5, w: (to - from + 1) * layout.pitch + 1,
      h: CELL_H + 3 });
  return rings;
}
