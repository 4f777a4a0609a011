// The index of a recording is extended with the live events: how much happened when, and the marks of the whole run.

import { decode, sentence } from "../events/codec.js";
import { MARKED } from "../events/events.gen.js";

/** @import { Texts } from "../texts.js" */
/** @import { AnyEvent, WireEvent } from "../events/events.d.ts" */
/** @import { Index, Mark } from "./recording.js" */

/** How a new partition gets its first leader: no leader failed, so it is not marked. */
const FIRST_LEADER = "NewPartition";

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
  if (!MARKED.includes(kind)) return;
  const values = /** @type {Record<string, unknown>} */ ({ ...decode(wire).data });
  if (values.strategy !== FIRST_LEADER) index.marks.push({ seq, at_us, kind, values });
}

/** The text of a mark: its event as a sentence, or the name of a bookmark. @param {Mark} mark @param {Texts} texts */
export function markWords({ kind, values }, texts) {
  return kind === "Bookmark" ? String(values.name) : sentence(/** @type {AnyEvent} */ ({ kind, data: values }), texts);
}

/** How telling a mark is; 0 is the most. Bookmarks come right after alarms. @param {Mark} mark */
export const rankOf = ({ kind }) => (kind === "Bookmark" ? 0.5 : MARKED.indexOf(/** @type {any} */ (kind)));
