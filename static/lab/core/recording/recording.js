// What is known of a branch's history: a window of live events, and segments of the recording fetched over HTTP.

import { lastIndex } from "../last_index.js";
import { Refusal } from "../refusal.js";
import { apply, own } from "../view/patch.js";

/** @import { Patch, WireEvent } from "../events/events.d.ts" */
/** @import { View } from "../view/view.d.ts" */

/**
 * A stretch of events without a gap. `base` is the view before the first of them (null when it was not kept);
 * `inverses[i]` undoes `events[i]`, once that has been applied.
 * @typedef {{ first_seq: number, base: { at_us: number, state: View } | null, events: WireEvent[],
 *             inverses: (Patch | undefined)[], full: boolean }} Chunk
 *
 * @typedef {{ n: number, first_seq: number, last_seq: number, first_at_us: number, last_at_us: number }} SegmentInfo
 * @typedef {{ seq: number, at_us: number, kind: string, values: Record<string, any> }} Mark
 * @typedef {{ branch: string, parent: string | null, parent_seq: number, parent_at_us: number, last_seq: number,
 *             last_at_us: number }} BranchInfo
 * @typedef {{ run: string, branch: string, name: string, boot: string, schema: string, first_seq: number, last_seq: number,
 *             last_at_us: number, start_wall_ms: number, segment_events: number, segments: SegmentInfo[],
 *             density: { bucket_us: number, counts: number[] }, marks: Mark[], branches: BranchInfo[], first_at_us?: number }} Index
 *   `first_at_us`: of an excerpt, where it begins
 *
 * @typedef {{ seq: number, at_us: number }} Place
 * @typedef {{ seq: number, at_us?: number } | { at_us: number }} Target an event, at an instant before the next one; or an instant
 */

/** Live events kept in the page; older ones are fetched again when they are shown. */
const WINDOW = 8000;
const WINDOW_SLACK = 2000;
const SEGMENTS_KEPT = 12;
/** How many of them one picture may want; the others are for the instants that are sought. */
const SEGMENTS_SHOWN = 10;
/** Longer ways are walked by starting from a keyframe. */
const MAX_WALK = 2000;

export class Recording {
  /** @type {Chunk | null} */
  #live = null;
  /** Fetched segments by number, the least recently used first. @type {Map<number, Chunk>} */
  #segments = new Map();
  /** @type {Map<string, Promise<void>>} */
  #loading = new Map();
  /** Where the live window began when the index was last found too old for it. */
  #indexed_for = -1;
  #api;
  #fetch;

  /** @type {Index | null} */
  index = null;

  /**
   * @param {string} api address of the branch's history, ending in "/"
   * @param {typeof fetch} fetcher
   */
  constructor(api, fetcher) {
    this.#api = api;
    this.#fetch = fetcher;
  }

  // --- live events ---------------------------------------------------------------------------------------------

  /** Restarts the live window after a snapshot. @param {Place} place @param {View} state */
  restart({ seq, at_us }, state) {
    this.#live = { first_seq: seq + 1, base: { at_us, state }, events: [], inverses: [], full: false };
  }

  /** Adds the next live event. @param {WireEvent} event */
  append(event) {
    const live = /** @type {Chunk} */ (this.#live);
    live.events.push(event);
    live.inverses.push(undefined);
    if (live.events.length > WINDOW + WINDOW_SLACK) {
      live.events.splice(0, WINDOW_SLACK);
      live.inverses.splice(0, WINDOW_SLACK);
      live.first_seq += WINDOW_SLACK;
      live.base = null;
    }
  }

  // --- looking up ----------------------------------------------------------------------------------------------

  /** All chunks that are here, oldest first; the live window comes last and may overlap the segments. */
  chunks() {
    const list = [...this.#segments.values()].sort((a, b) => a.first_seq - b.first_seq);
    return this.#live ? [...list, this.#live] : list;
  }

  /** @param {number} seq @returns {Chunk | null} */
  #chunkOf(seq) {
    if (this.#live && holds(this.#live, seq)) return this.#live;
    for (const chunk of this.#segments.values()) if (holds(chunk, seq)) return chunk;
    return null;
  }

  /** @param {number} seq @returns {WireEvent | null} */
  event(seq) {
    const chunk = this.#chunkOf(seq);
    return chunk && chunk.events[seq - chunk.first_seq];
  }

  /** What undoes an event that has been applied. @param {number} seq @returns {Patch | null} */
  inverse(seq) {
    const chunk = this.#chunkOf(seq);
    return chunk?.inverses[seq - chunk.first_seq] ?? null;
  }

  /**
   * The last event at or before a target, or what has to be loaded to say so: the index, or a segment.
   * @param {Target} target
   * @returns {{ place: Place } | { need: "index" | number }}
   */
  locate(target) {
    if ("seq" in target) return this.#locateSeq(target.seq, target.at_us);
    const { at_us } = target;
    const live = this.#live;
    if (live && beginsBefore(live, at_us)) return { place: lastAt(live, at_us) };
    const segments = this.index?.segments;
    if (!segments) return { need: "index" };
    const i = lastIndex(segments.length, (k) => segments[k].first_at_us <= at_us);
    if (i < 0) return segments.length ? this.#locateSeq(segments[0].first_seq) : { need: "index" };
    const chunk = this.#segment(segments[i].n);
    if (!chunk) return { need: segments[i].n };
    if (i === segments.length - 1 && live && end(chunk) + 1 < live.first_seq && at_us >= (chunk.events.at(-1)?.[1] ?? 0)) {
      this.#segments.delete(segments[i].n); // it was the last and has grown since
      return { need: "index" };
    }
    return { place: lastAt(chunk, at_us) };
  }

  /**
   * What has to be loaded next for a picture of a span of time: the index, or the newest of its segments that is not here; null when
   * nothing is missing, or when as much is here as fits.
   * @param {number} from_us
   * @param {number} to_us
   * @returns {"index" | number | null}
   */
  missing(from_us, to_us) {
    const live = this.#live;
    if (live && beginsBefore(live, from_us)) return null;
    const segments = this.index?.segments;
    if (!segments) return "index";
    const live_seq = live?.first_seq ?? Infinity;
    const newest = segments.at(-1);
    if (live && newest && newest.last_seq + 1 < live_seq && to_us >= newest.last_at_us && this.#indexed_for !== live_seq) {
      this.#indexed_for = live_seq;
      this.#segments.delete(newest.n); // it has grown since, and others have come
      return "index";
    }
    const at = (/** @type {number} */ us) => Math.max(0, lastIndex(segments.length, (k) => segments[k].first_at_us <= us));
    let room = SEGMENTS_SHOWN;
    for (let i = at(to_us); i >= at(from_us) && i < segments.length && room > 0; i--) {
      const { n, first_seq } = segments[i];
      if (first_seq >= live_seq) continue;
      if (!this.#segment(n)) return n;
      room--;
    }
    return null;
  }

  /** @param {number} seq @param {number} [at_us] @returns {{ place: Place } | { need: "index" | number }} */
  #locateSeq(seq, at_us = 0) {
    const known = this.event(seq);
    if (known) return { place: { seq, at_us: Math.max(known[1], Math.min(at_us, this.event(seq + 1)?.[1] ?? at_us)) } };
    const base = this.#live?.base;
    if (base && this.#live?.first_seq === seq + 1) return { place: { seq, at_us: base.at_us } };
    return { need: this.segmentOf(seq) };
  }

  /** The number of the segment that holds an event, or "index" when the index does not know. @param {number} seq */
  segmentOf(seq) {
    const segments = this.index?.segments ?? [];
    const i = lastIndex(segments.length, (k) => segments[k].first_seq <= seq);
    return i < 0 || segments[i].last_seq < seq ? "index" : segments[i].n;
  }

  /** @param {number} n */
  #segment(n) {
    const chunk = this.#segments.get(n);
    if (chunk) {
      this.#segments.delete(n);
      this.#segments.set(n, chunk);
    }
    return chunk ?? null;
  }

  // --- walking -------------------------------------------------------------------------------------------------

  /**
   * How to come from one event (null: from nothing) to another with what is here: by patches or their inverses when the
   * way is short, from a keyframe otherwise; null when something has to be loaded first.
   * @param {number | null} from
   * @param {number} to
   * @returns {"forward" | "back" | "keyframe" | null}
   */
  way(from, to) {
    if (from !== null && Math.abs(to - from) <= MAX_WALK) {
      if (to >= from && this.#all(from + 1, to, (chunk, i) => i < chunk.events.length)) return "forward";
      if (to < from && this.#all(to + 1, from, (chunk, i) => chunk.inverses[i] !== undefined)) return "back";
    }
    return this.#keyframe(to) ? "keyframe" : null;
  }

  /**
   * Brings a view from one event to another; `way` has to know how.
   * @param {View | null} view
   * @param {number} from
   * @param {number} to
   * @param {Set<string>} touched
   * @returns {View} `view` itself, changed, or a new one when a keyframe was taken
   * @throws {RangeError} when a patch does not fit the view
   */
  walk(view, from, to, touched) {
    const way = this.way(view && from, to);
    if (view && way === "forward") {
      for (let seq = from + 1; seq <= to; seq++) this.forward(view, seq, touched);
      return view;
    }
    if (view && way === "back") {
      for (let seq = from; seq > to; seq--) apply(view, /** @type {Patch} */ (this.inverse(seq)), touched);
      return view;
    }
    const chunk = this.#keyframe(to);
    if (!chunk?.base) throw new RangeError(`event ${to} is not here`);
    const rebuilt = own(chunk.base.state);
    for (let i = 0; i <= to - chunk.first_seq; i++) chunk.inverses[i] = apply(rebuilt, chunk.events[i][5]);
    return rebuilt;
  }

  /**
   * Applies the event `seq`, which has to be here, and keeps its inverse.
   * @param {View} view
   * @param {number} seq
   * @param {Set<string>} touched
   */
  forward(view, seq, touched) {
    const chunk = /** @type {Chunk} */ (this.#chunkOf(seq));
    const i = seq - chunk.first_seq;
    chunk.inverses[i] = apply(view, chunk.events[i][5], touched);
  }

  /** A chunk with a base from which `seq` can be reached. @param {number} seq @returns {Chunk | undefined} */
  #keyframe(seq) {
    return [...this.#segments.values(), this.#live].find((one) => one?.base && (holds(one, seq) || one.first_seq === seq + 1)) ?? undefined;
  }

  /** @param {number} from @param {number} to @param {(chunk: Chunk, i: number) => boolean} test */
  #all(from, to, test) {
    for (let seq = from; seq <= to; ) {
      const chunk = this.#chunkOf(seq);
      if (!chunk) return false;
      const stop = Math.min(to, end(chunk));
      for (; seq <= stop; seq++) if (!test(chunk, seq - chunk.first_seq)) return false;
    }
    return true;
  }

  // --- loading -------------------------------------------------------------------------------------------------

  /**
   * Fetches the index or a segment. Asking twice at the same time is one request.
   * @param {"index" | number} what
   * @returns {Promise<void>}
   * @throws {Refusal} of the server when it has no such thing, in the reader's language
   * @throws {Error} when nothing answers
   */
  load(what) {
    const key = String(what);
    let running = this.#loading.get(key);
    if (!running) {
      running = (what === "index" ? this.#loadIndex() : this.#loadSegment(what)).finally(() => this.#loading.delete(key));
      this.#loading.set(key, running);
    }
    return running;
  }

  async #loadIndex() {
    this.index = /** @type {Index} */ (await this.#json("index.json"));
    // What was the last segment may have grown since.
    for (const { n, last_seq } of this.index.segments) {
      const chunk = this.#segments.get(n);
      if (chunk && !chunk.full && end(chunk) < last_seq) this.#segments.delete(n);
    }
  }

  /** @param {number} n */
  async #loadSegment(n) {
    const { first_seq, state, at_us, ev } = await this.#json(`segments/${n}.json`);
    const info = this.index?.segments.find((one) => one.n === n);
    const full = ev.length >= (this.index?.segment_events ?? Infinity);
    this.#segments.delete(n);
    this.#segments.set(n, { first_seq, base: { at_us, state }, events: ev, inverses: new Array(ev.length), full });
    if (info && ev.length) Object.assign(info, { last_seq: ev.at(-1)[0], last_at_us: ev.at(-1)[1] });
    for (const old of this.#segments.keys()) {
      if (this.#segments.size <= SEGMENTS_KEPT) break;
      this.#segments.delete(old);
    }
  }

  /** @param {string} path @returns {Promise<any>} */
  async #json(path) {
    const response = await this.#fetch(this.#api + path, { credentials: "same-origin" });
    const body = await response.json().catch(() => null);
    if (!response.ok && body?.what) throw new Refusal(body);
    if (!response.ok) throw new Error(`${path}: HTTP status ${response.status}`);
    return body;
  }
}

/** @param {Chunk} chunk @param {number} seq */
function holds(chunk, seq) {
  return seq >= chunk.first_seq && seq <= end(chunk);
}

/** The last seq in a chunk. @param {Chunk} chunk */
function end(chunk) {
  return chunk.first_seq + chunk.events.length - 1;
}

/** Whether a chunk contains the state at an instant, judging by its beginning. @param {Chunk} chunk @param {number} at_us */
function beginsBefore({ base, events }, at_us) {
  const from_us = base?.at_us ?? events[0]?.[1];
  return from_us !== undefined && (base ? at_us >= from_us : at_us > from_us);
}

/** The last event of a chunk at or before an instant. @param {Chunk} chunk @param {number} at_us @returns {Place} */
function lastAt(chunk, at_us) {
  const i = lastIndex(chunk.events.length, (k) => chunk.events[k][1] <= at_us);
  if (i >= 0) return { seq: chunk.events[i][0], at_us };
  return { seq: chunk.first_seq - 1, at_us: Math.max(at_us, chunk.base?.at_us ?? at_us) };
}
