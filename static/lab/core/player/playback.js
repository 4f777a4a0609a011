// Time of the past, which this page moves by itself: at a rate, or at the pace of what happens.

import { pacedMs } from "./timemap.js";

/** @import { WireEvent } from "../events/events.d.ts" */
/** @import { Mode } from "../live/clock.js" */
/** @import { View } from "../view/view.d.ts" */

/**
 * @typedef {{ seq: number, at_us: number, live_seq: number, live_at_us: number, view: View | null,
 *             event: (seq: number) => WireEvent | null }} Shown what is shown, the end of the history, and an event if it is loaded
 */

export class Playback {
  /** @type {Mode} */
  mode = "pause";
  rate = 0.0025;
  /** What playing has moved beyond the instant shown, less than a microsecond. */
  #fraction_us = 0;
  /** @type {{ from_us: number, to_us: number, wall_ms: number } | null} */
  #stretch = null;

  /** @param {Mode} mode */
  setMode(mode) {
    this.mode = mode;
    this.#stretch = null;
  }

  /** @param {number} rate */
  setRate(rate) {
    this.rate = rate;
    this.#stretch = null;
  }

  /** The user has moved to another instant. */
  moved() {
    this.#stretch = null;
    this.#fraction_us = 0;
  }

  /**
   * The instant after some time on the wall.
   * @param {Shown} shown
   * @param {number} passed_ms
   * @returns {{ at_us: number } | { need: number }} or the event that has to be fetched first
   */
  next(shown, passed_ms) {
    let left_ms = passed_ms;
    let at_us = shown.at_us + this.#fraction_us;
    if (this.mode === "play") at_us += left_ms * 1000 * this.rate;
    while (this.mode === "event_paced" && left_ms > 0) {
      const stretch = this.#stretch ?? this.#nextStretch(shown, at_us);
      if ("need" in stretch) return stretch;
      this.#stretch = stretch;
      const { from_us, to_us, wall_ms } = stretch;
      const per_ms = (to_us - from_us) / Math.max(wall_ms, 1e-9);
      const end_ms = (to_us - at_us) / per_ms;
      if (end_ms > left_ms) {
        at_us += left_ms * per_ms;
        break;
      }
      at_us = to_us;
      left_ms -= end_ms;
      this.#stretch = null;
      if (wall_ms > 0) break; // what this instant did is on screen for a frame at least
    }
    this.#fraction_us = at_us % 1;
    return { at_us: Math.floor(at_us) };
  }

  /** The stretch up to the next thing worth seeing: a delivery while messages are in flight, any event otherwise.
   * @param {Shown} shown @param {number} from_us */
  #nextStretch({ view, seq: shown_seq, live_seq, live_at_us, event }, from_us) {
    const moving = Object.values(view?.rpcs ?? {}).some((rpc) => !rpc.held);
    /** @param {number} to_us */
    const upTo = (to_us) => ({ from_us, to_us, wall_ms: pacedMs(to_us - from_us, moving, this.rate) });
    for (let seq = shown_seq + 1; seq <= live_seq; seq++) {
      const wire = event(seq);
      if (!wire) return { need: seq };
      const kind = wire[4][0];
      if (moving && kind !== "RpcDelivered" && kind !== "RpcDropped") continue;
      if (wire[1] > from_us) return upTo(wire[1]);
    }
    return upTo(live_at_us);
  }
}
