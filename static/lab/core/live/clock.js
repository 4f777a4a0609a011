// Simulated time of the live engine: the last clock frame of the server, and how far time may have advanced since.

/**
 * @typedef {"pause" | "play" | "event_paced"} Mode
 * @typedef {{ k: "clock", at_us: number, mode: Mode, rate: number, horizon_us: number, next_us: number | null,
 *             core?: "live" | "recorded", rests?: boolean, reached?: number | null,
 *             pause_when?: string }} Clock
 *   `horizon_us`: nothing unknown to the page can happen before it; `next_us`: when the next event is due;
 *   `rests`: the run was paused because no page was connected; `reached`: the rate that was reached lately, where it is known;
 *   `pause_when`: the condition at which the run pauses by itself, "" for none
 */

export class LiveClock {
  /** @type {Clock} */
  reported = { k: "clock", at_us: 0, mode: "pause", rate: 0.0025, horizon_us: 0, next_us: null };
  #now;
  #said_ms = 0;
  #event_us = 0;

  /** @param {() => number} now milliseconds that never go back */
  constructor(now) {
    this.#now = now;
  }

  /** @param {Clock} clock */
  set(clock) {
    this.reported = clock;
    this.#said_ms = this.#now();
  }

  /** The newest event happened then. @param {number} at_us */
  reached(at_us) {
    this.#event_us = at_us;
  }

  /** The newest known instant. */
  get heard_us() {
    return Math.max(this.reported.at_us, this.#event_us);
  }

  /** The instant that it is now. */
  get at_us() {
    return Math.max(this.#event_us, this.#extrapolated());
  }

  /** Whether time advances without new frames. */
  get runs() {
    return this.reported.mode !== "pause" && this.#extrapolated() < this.reported.horizon_us;
  }

  #extrapolated() {
    const { at_us, mode, rate, horizon_us } = this.reported;
    if (mode === "pause") return at_us;
    return Math.max(at_us, Math.min(horizon_us, Math.floor(at_us + (this.#now() - this.#said_ms) * rate * 1000)));
  }
}
