// Spans of class time, and how long a replay takes for them: what is off the record is passed over, what is idle is shortened.

import { lastIndex } from "../last_index.js";

/** @typedef {[from_us: number, to_us: number]} Span */

/** Minimum duration of an idle span. */
export const IDLE_SHOWN_US = 500_000;
/** Shorter spans are not idle. */
const IDLE_MIN_US = 2_000_000;

/**
 * What is in some spans and in none of others; both by time, without overlaps.
 * @param {Span[]} spans
 * @param {Span[]} others
 * @returns {Span[]}
 */
export function without(spans, others) {
  return spans.flatMap(([from_us, to_us]) => {
    /** @type {Span[]} */
    const left = [];
    let at_us = from_us;
    for (const [begins_us, ends_us] of others) {
      if (ends_us <= at_us || begins_us >= to_us) continue;
      if (begins_us > at_us) left.push([at_us, begins_us]);
      at_us = ends_us;
    }
    if (at_us < to_us) left.push([at_us, to_us]);
    return left;
  });
}

/** The spans without events and without speech. @param {Span[]} quiet @param {Span[]} voice @param {Span[]} off off the record */
export const idleOf = (quiet, voice, off) =>
  without(without(quiet, voice), off).filter(([from_us, to_us]) => to_us - from_us > IDLE_MIN_US);

/** The span that holds an instant, or null. @param {Span[]} spans by time @param {number} at_us */
export function spanAt(spans, at_us) {
  const span = spans[lastIndex(spans.length, (k) => spans[k][0] <= at_us)];
  return span && at_us < span[1] ? span : null;
}

/** What skipping saves, microseconds of class time. @param {Span[]} idle */
export const saved = (idle) => idle.reduce((sum, [from_us, to_us]) => sum + to_us - from_us - IDLE_SHOWN_US, 0);

/**
 * Where class time is after `passed_us` of playing.
 * @param {number} at_us
 * @param {number} passed_us microseconds of the wall
 * @param {{ speed: number, idle: Span[], off: Span[] }} how `idle`: the spans that are shortened; `off`: those that are passed over
 */
export function advance(at_us, passed_us, { speed, idle, off }) {
  let left_us = passed_us;
  for (;;) {
    const hidden = spanAt(off, at_us);
    if (hidden) at_us = hidden[1];
    const span = spanAt(idle, at_us);
    const rate = span ? Math.max(speed, (span[1] - span[0]) / IDLE_SHOWN_US) : speed;
    const edge_us = span ? span[1] : nextEdge(at_us, [idle, off]);
    const needed_us = (edge_us - at_us) / rate;
    if (left_us < needed_us) return at_us + left_us * rate;
    at_us = edge_us;
    left_us -= needed_us;
  }
}

/** Where the next span begins. @param {number} at_us @param {Span[][]} kinds */
function nextEdge(at_us, kinds) {
  const begins = kinds.map((spans) => spans[1 + lastIndex(spans.length, (k) => spans[k][0] <= at_us)]?.[0] ?? Infinity);
  return Math.min(...begins);
}
