// A message in the space-time picture: a line from where it was sent to where it is, with what it still has before it.
import { LABEL_W } from "../core/layout/spacetime.js";
import { dot, line, ring } from "./palette.js";

/** @import { Span } from "../core/recording/history.js" */
/** @import { Scale } from "../core/player/timemap.js" */

/**
 * The ends of a message's line, and the point where it is; `held` and `lost` messages are on half of the way.
 * @typedef {{ x1: number, y1: number, x2: number, y2: number, x: number, y: number, held: boolean, lost: boolean, ended: boolean }} Way
 */

/**
 * @param {Span} span
 * @param {Scale} map
 * @param {number} y1 of the sender's lane
 * @param {number} y2 of the receiver's lane
 * @param {number} at_us
 * @returns {Way}
 */
export function wayOf(span, map, y1, y2, at_us) {
  const ended = span.end_us <= at_us;
  const lost = span.lost && ended;
  const arrive_us = ended ? span.end_us : Math.max(span.due_us, at_us);
  const held = !ended && span.held_us <= at_us;
  const part = arrive_us > span.sent_us ? (Math.min(at_us, arrive_us) - span.sent_us) / (arrive_us - span.sent_us) : 1;
  const end_part = lost ? 0.5 : held ? Math.min(part, 0.5) : part;
  const x1 = map.x(span.sent_us);
  const x2 = map.x(arrive_us);
  const x = held ? map.x(at_us) : x1 + (x2 - x1) * (lost ? 1 : part);
  return { x1, y1, x2, y2, x, y: y1 + (y2 - y1) * end_part, held, lost, ended };
}

/** @type {Record<Span["kind"], number[]>} */
const DASHES = { request: [], response: [4, 2], watch: [1.5, 3] };

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Span} span
 * @param {Way} way
 * @param {{ hue: string, panel: string, chosen: boolean }} look
 */
export function drawWay(context, span, { x1, y1, x2, y2, x, y, held, lost, ended }, { hue, panel, chosen }) {
  context.strokeStyle = hue;
  context.lineWidth = chosen ? 2.4 : 1.4;
  context.globalAlpha = span.family === "zk" && !chosen ? 0.6 : 1;
  context.setLineDash(DASHES[span.kind] ?? []);
  line(context, x1, y1, x, y);
  context.setLineDash([]);
  if (!ended && !held) {
    context.globalAlpha = 0.55;
    context.lineWidth = 1.2;
    context.setLineDash([1.5, 3]);
    line(context, x, y, x2, y2);
    context.setLineDash([]);
    ring(context, x2, y2, 2.5, hue, null);
    context.globalAlpha = 1;
    dot(context, x, y, chosen ? 4.2 : 3, hue);
  } else if (lost) {
    context.lineWidth = 1.8;
    line(context, x - 3.5, y - 3.5, x + 3.5, y + 3.5);
    line(context, x - 3.5, y + 3.5, x + 3.5, y - 3.5);
  } else dot(context, x, y, 2.3, hue);
  context.globalAlpha = 1;
  ring(context, x1, y1, 2, hue, panel);
}

/**
 * Where the label of a message is: on its line, away from the middle.
 * @param {Span} span
 * @param {Way} way
 * @param {number} now the x of the instant
 */
export function labelPlace(span, { x1, y1, y2, x, y }, now) {
  const from = Math.max(LABEL_W, x1);
  const middle = from + (Math.min(x, now) - from) * (span.kind === "response" ? 0.42 : 0.3);
  const on_line = x === x1 ? y1 : y1 + (y - y1) * ((middle - x1) / (x - x1));
  return { x: middle, y: on_line + (y2 > y1 ? -2 : 9) };
}
