// What the last step changed, and which event last wrote a value: the answer to "why?".
import { effect, front, moment, player, signal } from "./state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { AnyEvent, Patch } from "../../core/events/events.d.ts" */

const MAX_SHOWN = 40;
const MAX_SEARCHED = 20000;
const MAX_CHAIN = 6;
const LOAD_TRIES = 600;

/**
 * The question that is answered in the inspector; `chain` holds events, newest first, or null while searching.
 * @type {Signal<{ pointer: string, chain: AnyEvent[] | null } | null>}
 */
export const why = signal(null);
effect(() => void (front.value, why.value = null)); // it is about the branch that was shown

/** Values from before the last step, by pointer. Only while paused: else they change too often to be read. */
export function previousValues() {
  /** @type {Map<string, unknown>} */
  const values = new Map();
  if (moment.value.mode !== "pause") return values;
  for (const { patch, previous } of player.lastEvents.slice(-MAX_SHOWN)) {
    const before = new Map(previous.map(([pointer, ...rest]) => [pointer, rest[0]]));
    for (const [pointer] of patch) if (!values.has(pointer)) values.set(pointer, before.get(pointer));
  }
  return values;
}

/** What an event wrote. @param {number} seq @returns {Patch} */
export function patchOf(seq) {
  for (const { first_seq, events } of player.chunks()) {
    const wire = events[seq - first_seq];
    if (wire) return wire[5];
  }
  return [];
}

/** @param {string} written @param {string} pointer */
const covers = (written, pointer) => pointer === written || pointer.startsWith(`${written}/`);

/** An event by number; fetched if it is not loaded; null if there is none. @param {number} seq @returns {Promise<AnyEvent | null>} */
export async function eventAt(seq) {
  for (let tries = 0; tries < LOAD_TRIES; tries++) {
    const event = player.event(seq);
    if (event) return event;
    if (seq < 1 || seq > player.live_seq) return null;
    player.wantEvent(seq);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

/** Looks for the event that last wrote a path, and walks back along its causes. @param {string} pointer */
export async function explain(pointer) {
  why.value = { pointer, chain: null };
  /** @type {AnyEvent | null} */
  let found = null;
  for (let seq = player.seq; seq > 0 && seq > player.seq - MAX_SEARCHED && !found; seq--) {
    const event = await eventAt(seq);
    if (!event) break;
    if (patchOf(seq).some(([written]) => covers(written, pointer) || covers(pointer, written))) found = event;
  }
  /** @type {AnyEvent[]} */
  const chain = [];
  for (/** @type {AnyEvent | null} */ let event = found; event && chain.length < MAX_CHAIN; event = event.cause > 0
    ? await eventAt(event.cause) : null) chain.push(event);
  if (why.value?.pointer === pointer) why.value = { pointer, chain };
}

