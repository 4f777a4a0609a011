// A recorded class: what its pages showed at an instant, by segments of events with the sections that each changed.

import { lastIndex } from "../last_index.js";
import { apply } from "../view/patch.js";

/** @import { ClassTree } from "../classroom/class.d.ts" */
/** @import { Patch } from "../events/events.d.ts" */
/** @import { Row } from "./class_map.js" */
/** @import { Manifest } from "./manifest.d.ts" */

/**
 * @typedef {[kind: string, ...fields: unknown[]] | []} Fields
 * @typedef {[seq: number, at_us: number, who: string, act: string, event: Fields, patch: Patch]} RecordedEvent
 * @typedef {{ first_seq: number, last_seq: number, patch: Patch, events: RecordedEvent[] }} Segment `patch`: all sections before it
 * @typedef {{ who: string, anchor: string, u: number, v: number }} Pointer
 */

/** A pointer that does not move fades. */
const POINTED_US = 1_200_000;
const SEGMENTS_KEPT = 8;

export class ClassPlayer {
  /** @type {ClassTree} */
  tree = {};
  /** The last event of the class that the tree contains. */
  seq = 0;
  /** @type {Manifest | null} */
  manifest = null;
  #base;
  #fetch;
  /** By number, the least recently used first. @type {Map<number, Segment>} */
  #segments = new Map();
  /** @type {Map<number, Promise<void>>} */
  #loading = new Map();
  #shown = -1;
  /** The last segment that was fetched before it was needed. */
  #prefetched = -1;
  /** How many events of the segment are applied. */
  #applied = 0;

  /** @param {string} base address of the recording, ending in "/" @param {typeof fetch} fetcher */
  constructor(base, fetcher) {
    this.#base = base;
    this.#fetch = fetcher;
  }

  /** Manifest and map; requested again during a class. @returns {Promise<{ manifest: Manifest, rows: Row[] }>} */
  async open() {
    const [manifest, rows] = await Promise.all([this.ask("manifest.json"), this.ask("map.json")]);
    const last = (this.manifest?.segments.length ?? 0) - 1;
    // The last segment of a running class has grown.
    if (this.manifest && manifest.last_seq > this.manifest.last_seq) this.#segments.delete(last);
    this.manifest = manifest;
    return { manifest, rows };
  }

  /**
   * Shows an instant if its segment is here. @param {number} at_us
   * @returns {"missing" | "same" | "changed"}
   */
  show(at_us) {
    const n = this.#segmentAt(at_us);
    if (n < 0) return "same";
    const segment = this.#segments.get(n);
    if (!segment) return "missing";
    const wanted = 1 + lastIndex(segment.events.length, (k) => segment.events[k][1] <= at_us);
    if (n === this.#shown && wanted === this.#applied) return "same";
    if (n !== this.#shown || wanted < this.#applied) {
      this.tree = {};
      apply(this.tree, segment.patch);
      this.#shown = n;
      this.#applied = 0;
    }
    for (; this.#applied < wanted; this.#applied++) apply(this.tree, segment.events[this.#applied][5]);
    this.seq = segment.first_seq + this.#applied - 1;
    this.tree = { ...this.tree };
    return "changed";
  }

  /** Fetches the segment of an instant. @param {number} at_us */
  async load(at_us) {
    const n = this.#segmentAt(at_us);
    if (n < 0 || this.#segments.has(n)) return;
    let coming = this.#loading.get(n);
    if (!coming) {
      coming = this.ask(`segments/${n}.json`).then((segment) => this.#keep(n, segment)).finally(() => this.#loading.delete(n));
      this.#loading.set(n, coming);
    }
    await coming;
  }

  /** Fetches the segment of an instant to come, once: where that fails, it is fetched when it is needed. @param {number} at_us */
  prefetch(at_us) {
    const n = this.#segmentAt(at_us);
    if (n < 0 || n === this.#prefetched || this.#segments.has(n)) return;
    this.#prefetched = n;
    this.load(at_us).catch(() => {});
  }

  /** The pointer at an instant, in what has been loaded. @param {number} at_us @returns {Pointer | null} */
  pointer(at_us) {
    const events = this.#segments.get(this.#segmentAt(at_us))?.events ?? [];
    for (let i = lastIndex(events.length, (k) => events[k][1] <= at_us); i >= 0 && events[i][1] > at_us - POINTED_US; i--) {
      const [, , who, , [kind, anchor, u, v, down]] = events[i];
      if (kind === "Pointed") return down === false ? null : { who, anchor: String(anchor), u: Number(u), v: Number(v) };
    }
    return null;
  }

  /** @param {number} at_us */
  #segmentAt(at_us) {
    const begins = this.manifest?.segments ?? [];
    return begins.length ? Math.max(0, lastIndex(begins.length, (k) => begins[k] <= at_us)) : -1;
  }

  /** @param {number} n @param {Segment} segment */
  #keep(n, segment) {
    this.#segments.set(n, segment);
    if (n === this.#shown) this.#shown = -1;
    for (const old of this.#segments.keys()) {
      if (this.#segments.size <= SEGMENTS_KEPT) break;
      if (old !== this.#shown && old !== n) this.#segments.delete(old);
    }
  }

  /** What an address of the recording answers; throws its refusal. @param {string} path @returns {Promise<any>} */
  async ask(path) {
    const answer = await this.#fetch(this.#base + path, { headers: { accept: "application/json" } });
    const content = await answer.json().catch(() => null);
    if (!answer.ok || content === null) throw Object.assign(new Error(content?.what ?? `HTTP ${answer.status}`), content);
    return content;
  }
}
