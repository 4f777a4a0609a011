// Where the page is going, while what it needs to get there is being fetched. A newer goal takes the place of an older one
// on the way; steps that are made on the way are counted from the goal.

/** @import { Place, Recording, Target } from "../recording/recording.js" */

/** A goal that needs more fetches than this is an instant that the recording does not have. */
const MAX_FETCHES = 4;

/** @typedef {Target & { steps?: number }} Goal `steps`: number of events forward from there, or back if negative */

/**
 * @typedef {{ show: (place: Place) => boolean, load: (what: "index" | number) => Promise<boolean>, newest: () => number,
 *             toNewest: () => void, missing: () => void }} Traveller
 *   `show` moves to a place if its data is loaded; `load` fetches, and returns whether data arrived; `newest` is the
 *   last event, and steps that lead there end with `toNewest`; `missing`: the instant does not exist
 */

export class Seek {
  /** @type {Goal | null} */
  goal = null;
  #recording;
  #traveller;
  #travels = false;
  #arrival = Promise.resolve();

  /** @param {Recording} recording @param {Traveller} traveller */
  constructor(recording, traveller) {
    this.#recording = recording;
    this.#traveller = traveller;
  }

  /** The place of the goal, as far as it is known from loaded data. @returns {Place | null} */
  get place() {
    const found = this.goal && this.#locate(this.goal);
    return found && "place" in found ? found.place : null;
  }

  /** @param {Goal} goal */
  to(goal) {
    this.goal = goal;
    this.go();
  }

  /** Stays here. */
  cancel() {
    this.goal = null;
  }

  /** Continues to the goal as soon as its data has been fetched. @returns {Promise<void>} resolves when there is no goal any more */
  go() {
    if (!this.#travels) this.#arrival = this.#travel();
    return this.#arrival;
  }

  async #travel() {
    this.#travels = true;
    let fetches = 0;
    /** @type {Goal | null} */
    let last = null;
    while (this.goal) {
      if (this.goal !== last) fetches = 0;
      last = this.goal;
      const need = this.#arrive(this.goal);
      if (need === null) continue;
      const came = ++fetches <= MAX_FETCHES && (await this.#traveller.load(need));
      if (came || this.goal !== last) continue;
      this.goal = null;
      if (fetches > MAX_FETCHES) this.#traveller.missing();
    }
    this.#travels = false;
  }

  /** Seeks to the goal if possible now; otherwise returns what has to be fetched first. @param {Goal} goal */
  #arrive(goal) {
    const found = this.#locate(goal);
    if ("need" in found) return found.need;
    this.goal = null;
    if (goal.steps && found.place.seq >= this.#traveller.newest()) {
      this.#traveller.toNewest();
      return null;
    }
    if (this.#traveller.show(found.place)) return null;
    this.goal = goal;
    return this.#recording.segmentOf(found.place.seq);
  }

  /** @param {Goal} goal */
  #locate(goal) {
    const found = this.#recording.locate(goal);
    if (!goal.steps || "need" in found) return found;
    const oldest = this.#recording.index?.first_seq ?? 1;
    return this.#recording.locate({ seq: Math.max(oldest, Math.min(found.place.seq + goal.steps, this.#traveller.newest())) });
  }
}
