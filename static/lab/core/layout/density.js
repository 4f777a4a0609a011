// The whole run as a row of bars: how much happened when, with the marks that do not cover each other.

import { LABEL_W } from "./spacetime.js";
import { rankOf } from "../recording/marks.js";
import { scale } from "../player/timemap.js";

/** @import { Index, Mark } from "../recording/recording.js" */
/** @import { Scale } from "../player/timemap.js" */

const BAR_W = 6;
/** The part of the width that belongs to what has not happened yet. */
const FUTURE = 0.09;

/**
 * The whole run from its beginning to now, and some future; an excerpt from its own beginning to its end.
 * @param {number} live_at_us
 * @param {number} width
 * @param {number} [first_us]
 * @returns {Scale}
 */
export function densityScale(live_at_us, width, first_us = 0) {
  const length_us = Math.max(first_us ? 1000 : 1_000_000, live_at_us - first_us);
  return scale(first_us, first_us + length_us * (1 + FUTURE), LABEL_W, width);
}

/**
 * Bars of equal width, their heights 0 to 1 on a root scale, so that one burst does not flatten the rest.
 * @param {Index["density"]} density
 * @param {Scale} map
 * @param {number} width
 * @param {number} [now_us] the bucket that contains it ends there: nothing has happened later
 * @returns {{ x: number, w: number, part: number }[]}
 */
export function densityBars({ bucket_us, counts }, map, width, now_us = Infinity) {
  const n = Math.max(1, Math.floor((width - LABEL_W) / BAR_W));
  const sums = new Float64Array(n);
  counts.forEach((count, i) => {
    if (count === 0) return;
    const from = (map.x(i * bucket_us) - LABEL_W) / BAR_W;
    const to = Math.max(from + 1e-9, (map.x(Math.min((i + 1) * bucket_us, now_us)) - LABEL_W) / BAR_W);
    for (let k = Math.max(0, Math.floor(from)); k < Math.min(n, Math.ceil(to)); k++)
      sums[k] += (count * (Math.min(to, k + 1) - Math.max(from, k))) / (to - from);
  });
  const most = Math.max(1e-9, ...sums);
  return Array.from(sums, (sum, k) => ({ x: LABEL_W + k * BAR_W, w: BAR_W - 1.6, part: Math.sqrt(sum / most) }));
}

/**
 * Marks with their places; `labelled` for those whose text fits: of two that are too close, the more important one.
 * @param {Mark[]} marks
 * @param {Scale} map
 * @param {(mark: Mark) => number} widthOf pixels of a mark's text
 * @param {number} right the right limit
 * @returns {{ mark: Mark, x: number, labelled: boolean, flip: boolean }[]}
 */
export function placeMarks(marks, map, widthOf, right) {
  const places = marks.map((mark) => ({ mark, x: map.x(mark.at_us), labelled: false, flip: false }));
  /** @type {[number, number][]} */
  const taken = [];
  for (const place of [...places].sort((a, b) => rankOf(a.mark) - rankOf(b.mark) || b.mark.seq - a.mark.seq)) {
    const w = widthOf(place.mark) + 8;
    for (const flip of [false, true]) {
      const [from, to] = flip ? [place.x - w, place.x] : [place.x, place.x + w];
      if (from < LABEL_W || to > right || taken.some(([a, b]) => from < b && to > a)) continue;
      taken.push([from, to]);
      place.labelled = true;
      place.flip = flip;
      break;
    }
  }
  return places;
}
