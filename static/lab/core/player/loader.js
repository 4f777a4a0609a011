// Fetches parts of a recording: for the player, which needs them to continue, and for drawings, which can wait.

import { Refusal } from "../refusal.js";

/** @import { Aspect } from "../view/changes.js" */
/** @import { WireEvent } from "../events/events.d.ts" */
/** @import { Recording } from "../recording/recording.js" */

/** After history could not be fetched for a drawing, this long until the next attempt. */
const WANT_AGAIN_MS = 2000;
/** An event is looked up this many times: the index may have to be fetched before its segment. */
const MAX_LOOKUPS = 3;

export class Loader {
  #recording;
  #now;
  #player;
  /** Whether something is being fetched: drawings then ask again in a later frame. */
  #isLoading = false;
  #want_after_ms = 0;

  /**
   * @param {Recording} recording
   * @param {() => number} now milliseconds
   * @param {{ note: (...aspects: Aspect[]) => void, announce: (...aspects: Aspect[]) => void, refuse: (refusal: Refusal) => void,
   *           wake: () => void }} player
   */
  constructor(recording, now, player) {
    this.#recording = recording;
    this.#now = now;
    this.#player = player;
  }

  /**
   * Fetches the index or a segment; a failure is passed to the player.
   * @param {"index" | number} what
   * @returns {Promise<boolean>} whether it was fetched
   */
  async load(what) {
    this.#isLoading = true;
    try {
      await this.#recording.load(what);
      if (what === "index") this.#player.note("index");
      return true;
    } catch (error) {
      const isRefused = error instanceof Refusal;
      this.#player.refuse(isRefused ? error : new Refusal({ code: "history", what: /** @type {Error} */ (error).message }));
      return false;
    } finally {
      this.#isLoading = false;
      this.#player.wake();
    }
  }

  /** An event, fetched if it is not here; null if that fails. @param {number} seq @returns {Promise<WireEvent | null>} */
  async event(seq) {
    for (let tries = 0; tries < MAX_LOOKUPS; tries++) {
      const wire = this.#recording.event(seq);
      if (wire) return wire;
      const found = this.#recording.locate({ seq });
      if (!("need" in found) || !(await this.load(found.need))) return null;
    }
    return null;
  }

  /** Fetches a part of a span of time for a drawing, unless something is being fetched. @param {number} from_us @param {number} to_us */
  want(from_us, to_us) {
    if (this.#isBusy) return;
    const need = this.#recording.missing(from_us, to_us);
    if (need !== null) this.#fetch(need);
  }

  /** Fetches the segment of an event for a drawing, unless something is being fetched. @param {number} seq */
  wantEvent(seq) {
    if (!this.#isBusy && !this.#recording.event(seq)) this.#fetch(this.#recording.segmentOf(seq));
  }

  /** Fetches the index again. */
  refresh() {
    return this.#fetch("index");
  }

  get #isBusy() {
    return this.#isLoading || this.#now() < this.#want_after_ms;
  }

  /** @param {"index" | number} need */
  async #fetch(need) {
    if (await this.load(need)) this.#player.announce("index");
    else this.#want_after_ms = this.#now() + WANT_AGAIN_MS;
  }
}
