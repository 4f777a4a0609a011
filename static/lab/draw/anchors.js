// Places in the picture, in coordinates that mean the same on every page: a thing and a place within its box, each 0 to 1; in the
// space-time picture an instant on a lane. Pointer and ink are held to such places.

import { LABEL_W, laneNextTo, windowScale } from "../core/layout/spacetime.js";
import { meaning, targets } from "./svg.js";
import { boxOf, elementAt } from "./zoom.js";

/** @import { LanePlace, Window } from "../core/layout/spacetime.js" */
/** @import { Anchor, Box } from "../core/layout/ink.js" */
/** @import { Target } from "../core/view/selectors.js" */

/**
 * @typedef {{ anchor: Anchor, u: number, v: number }} Spot
 * @typedef {{ canvas: HTMLElement, width: number, window: Window | null, lanes: LanePlace[] }} Plan of the space-time picture
 * @typedef {{ box: Box, frame: Box }} Framed where a thing is, and within what it can be seen
 * @typedef {{ x: number, y: number, out: "" | "left" | "right" | "up" | "down" }} Place client pixels; where the thing is out of
 *   sight the place of an arrow at the edge, and where that points
 */

/** The height of the only lane. */
const LANE_H = 24;
/** An arrow stays this far from the edge, px. */
const EDGE_PX = 10;

/** What two boxes share; without width or height where they share nothing. @param {Box} a @param {Box} b @returns {Box} */
export function common(a, b) {
  const x = Math.max(a.x, b.x);
  const y = Math.max(a.y, b.y);
  return { x, y, w: Math.max(0, Math.min(a.x + a.w, b.x + b.w) - x), h: Math.max(0, Math.min(a.y + a.h, b.y + b.h) - y) };
}

/** The place of a point within a box, as parts of its width and height. @param {Box} box @param {number} x @param {number} y */
export function partsOf({ x: left, y: top, w, h }, x, y) {
  /** @param {number} part */
  const within = (part) => Math.round(Math.min(1, Math.max(0, part)) * 1000) / 1000;
  return { u: within(w ? (x - left) / w : 0.5), v: within(h ? (y - top) / h : 0.5) };
}

/**
 * Where a spot is drawn.
 * @param {Framed} framed
 * @param {number} u
 * @param {number} v
 * @returns {Place}
 */
export function placeIn({ box, frame }, u, v) {
  const x = box.x + u * box.w;
  const y = box.y + v * box.h;
  const [left, right] = [frame.x + EDGE_PX, frame.x + frame.w - EDGE_PX];
  const [top, bottom] = [frame.y + EDGE_PX, frame.y + frame.h - EDGE_PX];
  const at = { x: Math.min(Math.max(x, left), Math.max(left, right)), y: Math.min(Math.max(y, top), Math.max(top, bottom)) };
  if (x < frame.x) return { ...at, out: "left" };
  if (x > frame.x + frame.w) return { ...at, out: "right" };
  if (y < frame.y) return { ...at, out: "up" };
  if (y > frame.y + frame.h) return { ...at, out: "down" };
  return { x, y, out: "" };
}

/**
 * Where an instant on a lane is, also out of sight.
 * @param {Plan} plan
 * @param {string} lane
 * @param {number} at_us
 * @returns {Framed | null}
 */
export function frameOfInstant({ canvas, width, window, lanes }, lane, at_us) {
  const place = lanes.find(({ id }) => id === lane);
  if (!place || !window) return null;
  const { x, y, w, h } = boxOf(canvas);
  const pitch = lanes.length > 1 ? lanes[1].y - lanes[0].y : LANE_H;
  return { box: { x: x + windowScale(window, width).x(at_us), y: y + place.y - pitch / 2, w: 0, h: pitch },
    frame: { x: x + LABEL_W, y, w: w - LABEL_W, h } };
}

/**
 * The instant and the lane at a place.
 * @param {Plan} plan
 * @param {number} x client
 * @param {number} y client
 * @returns {Anchor | null}
 */
export function instantAt({ canvas, width, window, lanes }, x, y) {
  const { x: left, y: top } = boxOf(canvas);
  const lane = laneNextTo(lanes, y - top);
  return lane && window ? { type: "time", id: lane.id, at_us: Math.round(windowScale(window, width).at(x - left)) } : null;
}

/** The elements found last, by thing. @type {Map<string, WeakRef<Element>>} */
const found = new Map();

/** The element that represents a thing.
 * @param {HTMLElement} host
 * @param {Anchor} anchor
 * @returns {Element | null}
 */
export function elementOf(host, { type, id }) {
  const key = `${type}:${id}`;
  /** @param {Element | undefined} element */
  const stands = (element) => {
    const target = element && targets.get(element);
    return target?.type === type && target.id === id && host.contains(/** @type {Element} */ (element));
  };
  const known = found.get(key)?.deref();
  if (known && stands(known)) return known;
  found.delete(key);
  for (const element of host.querySelectorAll("g, line, rect")) {
    if (!stands(element)) continue;
    found.set(key, new WeakRef(element));
    return element;
  }
  return null;
}

/** The thing at a place of the window, by its element. @param {number} x @param {number} y @returns {Target | null} */
export const thingAt = (x, y) => meaning(elementAt(x, y));
