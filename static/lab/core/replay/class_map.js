// Class time and the labs that were shown: piecewise straight, as lab/classroom/recorded/class_map.py makes it.

import { lastIndex } from "../last_index.js";

/**
 * @typedef {[at_us: number, lab: number, seq: number, lab_at_us: number, mode: string, rate_us: number]} Row from an instant of class
 *   time on: the number of the lab, -1 for none, its last event, its time, and how many microseconds of that a second takes
 * @typedef {{ lab: number, seq: number, at_us: number, runs: boolean }} LabPlace `runs`: its time advances
 */

const SECOND_US = 1e6;

export class ClassMap {
  #rows;

  /** @param {Row[]} rows by class time */
  constructor(rows) {
    this.#rows = rows;
  }

  /**
   * The lab that was shown at an instant of the class, and where it stood; null for none.
   * @param {number} at_us
   * @returns {LabPlace | null}
   */
  labAt(at_us) {
    const i = lastIndex(this.#rows.length, (k) => this.#rows[k][0] <= at_us);
    const row = this.#rows[i];
    if (!row || row[1] < 0) return null;
    const [from_us, lab, seq, lab_at_us, mode] = row;
    if (mode === "pause") return { lab, seq, at_us: lab_at_us, runs: false };
    const gone_us = lab_at_us + this.#gone(i, at_us - from_us);
    return { lab, seq, at_us: gone_us, runs: true };
  }

  /** The instant of the class at which a lab is shown first; null for never. */
  firstShown() {
    return this.#rows.find(([, lab]) => lab >= 0)?.[0] ?? null;
  }

  /**
   * The instant of the class at which an instant of a lab was shown: the last one up to `before_us`, else the first; null where
   * that instant was never shown.
   * @param {number} lab
   * @param {number} lab_us
   * @param {number} [before_us]
   */
  classAt(lab, lab_us, before_us = Infinity) {
    /** @type {number | null} */
    let found = null;
    for (let i = 0; i < this.#rows.length; i++) {
      const [from_us, number, , start_us] = this.#rows[i];
      if (number !== lab || start_us > lab_us) continue;
      const at_us = this.#shownIn(i, lab_us);
      if (at_us === null) continue;
      if (found !== null && at_us > before_us) break;
      found = at_us;
      if (from_us > before_us) break;
    }
    return found;
  }

  /**
   * The instant of the class at which an event of a lab was shown first; null where it never was. Where time is paused, events of one
   * instant of the lab are shown one after the other, so its instant alone does not determine when.
   * @param {number} lab
   * @param {number} seq
   * @param {number} lab_us
   */
  classOf(lab, seq, lab_us) {
    const i = this.#rows.findIndex((row) => row[1] === lab && row[2] >= seq);
    if (i < 0) return null;
    const [at_us] = this.#rows[i];
    const before = this.#rows[i - 1];
    if (!before || before[1] !== lab || before[4] === "pause" || !before[5]) return at_us;
    return Math.max(before[0], Math.min(at_us, before[0] + ((lab_us - before[3]) * SECOND_US) / before[5]));
  }

  /**
   * When a row shows an instant of its lab; an instant that was passed over is shown by what comes after it.
   * @param {number} i
   * @param {number} lab_us
   */
  #shownIn(i, lab_us) {
    const [from_us, lab, , start_us, mode, rate_us] = this.#rows[i];
    const next = this.#rows[i + 1];
    if (mode !== "pause" && rate_us > 0) {
      const at_us = from_us + ((lab_us - start_us) * SECOND_US) / rate_us;
      if (!next || at_us < next[0]) return at_us;
    } else if (lab_us === start_us) return from_us;
    return next && next[1] === lab && next[3] > lab_us ? next[0] : null;
  }

  /** How far the time of a lab has advanced within a row: never past the start of the next one.
   * @param {number} i
   * @param {number} passed_us
   */
  #gone(i, passed_us) {
    const [, lab, , lab_at_us, , rate_us] = this.#rows[i];
    const next = this.#rows[i + 1];
    const gone_us = (passed_us * rate_us) / SECOND_US;
    return next && next[1] === lab && next[3] >= lab_at_us ? Math.min(gone_us, next[3] - lab_at_us) : gone_us;
  }
}
