// The time axis of the space-time picture, and its playhead.

import { LABEL_W } from "../core/layout/spacetime.js";
import { tickText, ticks } from "../core/player/timemap.js";

/** @import { Scale } from "../core/player/timemap.js" */
/** @import { Palette } from "./palette.js" */
/** @typedef {{ width: number, height: number }} Size of the canvas, CSS pixels */

/**
 * Draws ticks with their instants; none is written where the playhead's is.
 * @param {CanvasRenderingContext2D} context @param {Scale} map @param {number} at_us @param {Size} size @param {Palette} palette
 */
export function drawAxis(context, map, at_us, { width, height }, palette) {
  const { line, ink3, mono } = palette;
  const { step_us, ticks: list } = ticks(Math.max(0, map.from_us), map.to_us, Math.max(3, (width - LABEL_W) / 100));
  context.font = `9.5px ${mono}`;
  context.textAlign = "left";
  const head = map.x(at_us);
  for (const tick of list) {
    const x = map.x(tick);
    if (x < LABEL_W) continue;
    context.fillStyle = line;
    context.fillRect(Math.round(x), 16, 1, height - 16);
    if (x > head - 58 && x < head + 78) continue;
    context.fillStyle = ink3;
    context.fillText(tickText(tick, step_us), x + 4, 12);
  }
}

/**
 * Draws the playhead with its instant, in the colour of the past if the page shows it.
 * @param {CanvasRenderingContext2D} context @param {Scale} map @param {number} at_us @param {boolean} past
 * @param {Size} size @param {Palette} palette
 */
export function drawPlayhead(context, map, at_us, past, { width, height }, palette) {
  const { primary, "primary-ink": ink, select, mono } = palette;
  const x = map.x(at_us);
  const hue = past ? select : primary;
  context.fillStyle = hue;
  context.fillRect(x - 0.8, 0, 1.6, height);
  context.beginPath();
  context.moveTo(x - 6, 0);
  context.lineTo(x + 6, 0);
  context.lineTo(x + 6, 7);
  context.lineTo(x, 13);
  context.lineTo(x - 6, 7);
  context.fill();
  const words = (Math.floor(at_us) / 1e6).toFixed(Math.min(6, Math.max(1, Math.ceil(7 - Math.log10(map.to_us - map.from_us)))));
  context.font = `700 10px ${mono}`;
  const w = context.measureText(words).width + 10;
  const left = x + 9 + w > width ? x - 9 - w : x + 9;
  context.beginPath();
  context.roundRect(left, 1, w, 14, 3);
  context.fill();
  context.fillStyle = past ? palette.panel : ink;
  context.textAlign = "left";
  context.fillText(words, left + 5, 11.5);
}
