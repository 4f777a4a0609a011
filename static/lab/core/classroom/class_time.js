// The class's clock on this page. The server's is the only one; the page takes its offset from the shortest of the last round trips.

const KEPT_TRIPS = 8;

export class ClassClock {
  /** @type {{ trip_ms: number, offset_us: number }[]} */
  #trips = [];
  #now_ms;

  /** @param {() => number} now_ms monotonic milliseconds */
  constructor(now_ms) {
    this.#now_ms = now_ms;
  }

  /** What the page sends in a `time` frame. */
  get sent_ms() {
    return this.#now_ms();
  }

  /** Takes the answer to a `time` frame. @param {number} sent_ms @param {number} class_us when the server answered */
  take(sent_ms, class_us) {
    const back_ms = this.#now_ms();
    const trip_ms = back_ms - sent_ms;
    this.#trips = [...this.#trips.slice(1 - KEPT_TRIPS), { trip_ms, offset_us: class_us - (sent_ms + trip_ms / 2) * 1000 }];
  }

  /** Sets the clock as of now: more than a trip is not known when a page begins. @param {number} class_us */
  set(class_us) {
    this.#trips = [{ trip_ms: Infinity, offset_us: class_us - this.#now_ms() * 1000 }];
  }

  /** Class time now, in microseconds. */
  get us() {
    const best = this.#trips.reduce((a, b) => (b.trip_ms < a.trip_ms ? b : a), this.#trips[0] ?? { trip_ms: 0, offset_us: 0 });
    return Math.max(0, Math.round(best.offset_us + this.#now_ms() * 1000));
  }
}
