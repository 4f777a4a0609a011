// Strokes that mean the same on every page: attached to an element of the picture, in fractions of its box.

/** @import { Target } from "../view/selectors.js" */

/**
 * @typedef {{ type: Target["type"] | "time", id: string, at_us?: number }} Anchor a Target; or `time`: a lane, by its node, at an instant
 * @typedef {{ x: number, y: number, w: number, h: number }} Box client pixels
 * @typedef {[x: number, y: number]} Point
 * @typedef {{ anchor: string, points: Point[] }} Stroke points in thousandths of the box of the thing, also outside of it
 */

export const PARTS = 1000;
/** Points that are nearer to each other than this are one, px. */
const NEAR_PX = 2.5;
const MAX_POINTS = 200;
/** A stroke that ends so near to where it began, in parts of its extent, encloses something. */
const CLOSED = 0.35;

/** An anchor as the class's log and its frames write it: `record:orders-0@b1:4`, `time@1500000:b1`. @param {Anchor} anchor */
export const anchorText = ({ type, id, at_us }) => (at_us === undefined ? `${type}:${id}` : `${type}@${Math.round(at_us)}:${id}`);

/** The anchor that a text names; null for none. @param {string} text @returns {Anchor | null} */
export function anchorOf(text) {
  const found = /^([a-z]+)(?:@(\d+))?:(.*)$/s.exec(text);
  if (!found) return null;
  const [, type, at_us, id] = found;
  return { type: /** @type {Anchor["type"]} */ (type), id, ...(at_us ? { at_us: Number(at_us) } : {}) };
}

/** What a whole is in each direction: an instant on a lane has a height only. @param {Box} box */
export const unitOf = ({ w, h }) => ({ w: w || h || 1, h: h || w || 1 });

/**
 * What was drawn, as other pages can draw it: what a closed line encloses holds it, else what it ends at or begins at.
 * @param {Point[]} drawn client pixels
 * @param {(x: number, y: number) => { anchor: Anchor } | null} spotAt
 * @param {(anchor: Anchor) => { box: Box } | null} frameOf
 * @returns {Stroke | null} null: nothing along the line can hold it
 */
export function strokeOf(drawn, spotAt, frameOf) {
  const points = thinned(drawn);
  const spot = candidates(points).map(([x, y]) => spotAt(x, y)).find((found) => found !== null);
  const framed = spot && frameOf(spot.anchor);
  if (!spot || !framed) return null;
  const { box } = framed;
  const { w, h } = unitOf(box);
  return { anchor: anchorText(spot.anchor), points: points.map(([x, y]) =>
    [Math.round(((x - box.x) / w) * PARTS), Math.round(((y - box.y) / h) * PARTS)]) };
}

/** Where to look for a thing, the best place first. @param {Point[]} points @returns {Point[]} */
function candidates(points) {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  /** @type {Point} */
  const middle = [(left + right) / 2, (top + bottom) / 2];
  const [first, last] = [points[0], points[points.length - 1]];
  const gap = Math.hypot(last[0] - first[0], last[1] - first[1]);
  const isClosed = points.length > 2 && gap <= CLOSED * Math.hypot(right - left, bottom - top);
  return isClosed ? [middle, first, ...points] : [last, first, middle, ...points];
}

/** The same line with fewer points. @param {Point[]} points @returns {Point[]} */
export function thinned(points) {
  /** @type {Point[]} */
  const kept = [];
  for (const point of points) {
    const last = kept[kept.length - 1];
    if (!last || Math.hypot(point[0] - last[0], point[1] - last[1]) >= NEAR_PX) kept.push(point);
  }
  if (kept.length <= MAX_POINTS) return kept;
  const step = (kept.length - 1) / (MAX_POINTS - 1);
  return Array.from({ length: MAX_POINTS }, (_, i) => kept[Math.round(i * step)]);
}
