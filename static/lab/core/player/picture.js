// The shown picture: the view after an event, at an instant. It seeks along the recording.

import { decode } from "../events/codec.js";

/** @import { Changes } from "../view/changes.js" */
/** @import { AnyEvent, Patch, WireEvent } from "../events/events.d.ts" */
/** @import { Place, Recording } from "../recording/recording.js" */
/** @import { View } from "../view/view.d.ts" */

/** @typedef {AnyEvent & { patch: Patch, previous: Patch }} AppliedEvent an event, what it wrote, and what was there before */

/** More waiting events than this are applied in one go, without drawing between them. */
const BACKLOG = 2000;
/** Number of events that are applied between two checks of the clock. */
const STRIDE = 16;
/** How many events of one step are reported. */
const LAST_EVENTS = 200;

export class Picture {
  /** @type {View | null} changed in place, replaced when `reset` is announced */
  view = null;
  /** Seq of the last event that the view contains. */
  seq = 0;
  /** The instant that is shown, simulated microseconds. */
  at_us = 0;
  #recording;
  #changes;
  #now;
  /** @type {WireEvent[]} */
  #last = [];

  /** @param {Recording} recording @param {Changes} changes @param {() => number} now milliseconds */
  constructor(recording, changes, now) {
    this.#recording = recording;
    this.#changes = changes;
    this.#now = now;
  }

  /** Whether it can get to an event with what is loaded. @param {number} seq */
  reaches(seq) {
    return this.#recording.way(this.view && this.seq, seq) !== null;
  }

  /** Seeks to a place within its reach. @param {Place} place @throws {RangeError} when a patch does not fit: the view is invalid then */
  show({ seq, at_us }) {
    const before = this.view;
    const from = this.seq;
    const change = this.#changes.next;
    this.view = null;
    this.view = this.#recording.walk(before, from, seq, change.touched);
    this.seq = seq;
    this.at_us = at_us;
    if (seq > from && this.view === before) this.#remember(from + 1, seq);
    else if (seq !== from) this.#remember(seq, seq);
    if (this.view !== before) change.reset = true;
    if (seq !== from || change.reset) this.#changes.note("view");
    this.#changes.note("time");
  }

  /**
   * Goes on to an event that is here, or as far as it comes in some time.
   * @param {number} to
   * @param {number} until_ms
   * @throws {RangeError} when a patch does not fit: this view is not the one that the events are of
   */
  follow(to, until_ms) {
    const view = /** @type {View} */ (this.view);
    const from = this.seq;
    const all = to - from > BACKLOG;
    for (let n = 1; this.seq < to; n++) {
      this.#recording.forward(view, this.seq + 1, this.#changes.next.touched);
      this.seq++;
      if (!all && n % STRIDE === 0 && this.#now() > until_ms) break;
    }
    this.#remember(from + 1, this.seq);
    this.#changes.note("view");
  }

  /** Time has come to an instant without any event. @param {number} at_us */
  moveTo(at_us) {
    if (at_us === this.at_us) return;
    this.at_us = at_us;
    this.#changes.note("time");
  }

  /** The events of the last step, the newest last, with what they wrote and what was there before. @returns {AppliedEvent[]} */
  get lastEvents() {
    return this.#last.map((wire) => {
      const previous = this.#recording.inverse(wire[0]) ?? [];
      return /** @type {AppliedEvent} */ ({ ...decode(wire), patch: wire[5], previous });
    });
  }

  /** @param {number} first @param {number} last */
  #remember(first, last) {
    this.#last = [];
    for (let seq = Math.max(first, last - LAST_EVENTS + 1); seq <= last; seq++) {
      const wire = this.#recording.event(seq);
      if (wire) this.#last.push(wire);
    }
  }
}
