// The index of a recording goes on with the live events: how much happened when, and the marks on the whole run.

import { decode, sentence } from "./codec.js";

/** @import { EventKind, WireEvent } from "./events.d.ts" */
/** @import { Index } from "./recording.js" */

/** Kinds that get a mark, beside those that the index already has. @type {Set<EventKind>} */
const MARKED = new Set([
  "BrokerStopped", "BrokerStarted", "BrokerExiting", "BrokerFrozen", "BrokerThawed", "LinkCut", "LinkRestored", "ControllerElected",
  "LeaderElected", "IsrShrunk", "IsrExpanded", "LogTruncated", "InvariantViolated",
]);

/** @param {Index} index @param {WireEvent} wire the newest event */
export function extend(index, wire) {
  const [seq, at_us, , , [kind]] = wire;
  if (seq <= index.last_seq) return;
  index.last_seq = seq;
  index.last_at_us = at_us;
  const { counts, bucket_us } = index.density;
  const bucket = Math.floor(at_us / bucket_us);
  while (counts.length <= bucket) counts.push(0);
  counts[bucket]++;
  if (!MARKED.has(kind)) return;
  const event = decode(wire);
  index.marks.push({ seq, at_us, kind, en: sentence(event, "en"), zh: sentence(event, "zh-CN") });
}
