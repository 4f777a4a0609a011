// Detects speech: loudness, ten times a second, as spans of class time.

export const SAMPLE_MS = 100;
/** Root mean square of samples between -1 and 1: quieter is silence, whatever the room is like. */
const MIN_LEVEL = 0.01;
/** How many times louder than the background a voice is. */
const OVER_NOISE = 3;
/** A pause within a sentence. */
const PAUSE_US = 700_000;
const NOISE_RISE = 1.02;

/** The root mean square of samples. @param {Float32Array} samples */
export const levelOf = (samples) => Math.sqrt(samples.reduce((sum, one) => sum + one * one, 0) / samples.length);

export class VoiceSpans {
  #noise = MIN_LEVEL;
  /** @type {[number, number] | null} */
  #open = null;
  /** @type {[number, number][]} */
  #done = [];

  /** Takes the loudness at an instant. @param {number} level @param {number} at_us */
  take(level, at_us) {
    // The noise of the room is what it is at its quietest; it may rise again, slowly.
    this.#noise = Math.min(Math.max(level, MIN_LEVEL / OVER_NOISE), this.#noise * NOISE_RISE);
    const speaks = level >= Math.max(MIN_LEVEL, this.#noise * OVER_NOISE);
    if (this.#open && at_us - this.#open[1] > PAUSE_US) this.#close();
    if (!speaks) return;
    if (this.#open) this.#open[1] = at_us;
    else this.#open = [at_us, at_us + SAMPLE_MS * 1000];
  }

  /** The spans that have ended, and those in progress if it `ends`; each once. @param {boolean} ends @returns {[number, number][]} */
  spans(ends) {
    if (ends) this.#close();
    return this.#done.splice(0).filter(([from_us, to_us]) => from_us < to_us);
  }

  #close() {
    if (this.#open) this.#done.push(this.#open);
    this.#open = null;
  }
}
