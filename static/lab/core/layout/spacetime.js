// The space-time picture: a lane for each node, time from left to right, a window that follows the playhead.

import { nodesByKind } from "../view/selectors.js";
import { scale } from "../player/timemap.js";

/** @import { View } from "../view/view.d.ts" */
/** @import { Scale } from "../player/timemap.js" */
/** @import { Span } from "../recording/history.js" */

export const LABEL_W = 88;
const AXIS_H = 26;
const MAX_LANE = 23.6;
/** The window's length in seconds of wall time at the present speed. */
const SPAN_S = 8;
const SPAN_MIN_US = 2_000;
const MAX_SPAN_US = 60_000_000;
/** After a step, the window is not shorter than this. */
const CLOSE_SPAN_US = 20_000;
const LAST_MESSAGES = 6;
const TIMES_SLOWEST = 5;
/** While time runs the playhead stays at this part of the window; else it may move between the other two. */
const PLAYHEAD = 0.66;
const MIN_PLAYHEAD = 0.08;
const MAX_PLAYHEAD = 0.9;

/**
 * @typedef {{ from_us: number, span_us: number }} Window
 * @typedef {{ id: string, y: number }} LanePlace
 */

/**
 * The nodes from top to bottom: producers, brokers, ZooKeeper, the console, consumers, connections by TCP.
 * @param {View} view
 * @param {number} height
 * @returns {LanePlace[]}
 */
export function layoutLanes(view, height) {
  const { producer, broker, zookeeper, shell, consumer, client } = nodesByKind(view);
  const ids = [...producer, ...broker, ...zookeeper, ...shell, ...consumer, ...client];
  const pitch = Math.min(MAX_LANE, (height - AXIS_H - 6) / Math.max(1, ids.length));
  return ids.map((id, i) => ({ id, y: AXIS_H + 4 + (i + 0.5) * pitch }));
}

/** How much time the window shows at a speed: a round length. @param {number} rate */
export const spanOf = (rate) => roundSpan(rate * SPAN_S * 1e6);

/**
 * How much time the window shows after a step: the last messages, each with a visible slope, so some times the slowest of them.
 * A message that is held is on no slope.
 * @param {Span[]} messages in the order of sending
 * @param {number} at_us
 */
export function closeSpan(messages, at_us) {
  const last = messages.filter(({ held_us, end_us }) => held_us > at_us || end_us <= at_us).slice(-LAST_MESSAGES);
  const slowest_us = Math.max(0, ...last.map(({ sent_us, due_us, end_us }) => Math.min(due_us, end_us) - sent_us));
  return roundSpan(Math.max(CLOSE_SPAN_US, slowest_us * TIMES_SLOWEST));
}

/** @param {number} us */
function roundSpan(us) {
  const raw = Math.min(MAX_SPAN_US, Math.max(SPAN_MIN_US, us));
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((one) => one * power).reduce((best, one) => (Math.abs(one - raw) < Math.abs(best - raw) ? one : best));
}

/**
 * The window for an instant. It stays where it is as long as the playhead is well inside; while time runs it scrolls.
 * @param {Window | null} before
 * @param {number} at_us
 * @param {number} span_us
 * @param {boolean} moving
 * @returns {Window}
 */
export function windowFor(before, at_us, span_us, moving) {
  const from_us = Math.round(at_us - PLAYHEAD * span_us);
  if (!before || before.span_us !== span_us) return { from_us, span_us };
  const part = (at_us - before.from_us) / span_us;
  if (moving ? part > PLAYHEAD || part < MIN_PLAYHEAD : part > MAX_PLAYHEAD || part < MIN_PLAYHEAD) return { from_us, span_us };
  return before;
}

/** @param {Window} window @param {number} width @returns {Scale} */
export function windowScale({ from_us, span_us }, width) {
  return scale(from_us, from_us + span_us, LABEL_W, width);
}

/**
 * Distance of a point from a stretch of line.
 * @param {number} px
 * @param {number} py
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
export function toSegment(px, py, x1, y1, x2, y2) {
  const dx = x2 - x1;
  const dy = y2 - y1;
  const square = dx * dx + dy * dy;
  const part = square ? Math.max(0, Math.min(1, ((px - x1) * dx + (py - y1) * dy) / square)) : 0;
  return Math.hypot(px - x1 - part * dx, py - y1 - part * dy);
}

/**
 * The lane next to a height, null without any.
 * @param {LanePlace[]} lanes
 * @param {number} y
 */
export const laneNextTo = (lanes, y) =>
  [...lanes].sort((a, b) => Math.abs(a.y - y) - Math.abs(b.y - y))[0] ?? null;
