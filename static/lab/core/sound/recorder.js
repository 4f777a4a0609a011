// Records a microphone in pieces that overlap. The recorders' own data drive everything: a hidden page gets its timers late.

/** Each piece comes in slices of this length. */
const SLICE_MS = 2000;
/** Number of slices of a piece; the next recorder starts one slice before it stops, so that no word is lost. */
export const PIECE_SLICES = 30;
const BITS_A_SECOND = 32_000;
const TYPES = ["audio/webm;codecs=opus", "audio/mp4"];

/** What a recorder reports. `at_us` of class time names its piece.
 * @typedef {object} Taker
 * @property {(piece: { piece: number, at_us: number, type: string }) => void} began
 * @property {(piece: number, index: number, data: Blob) => void} slice
 * @property {(piece: number, slices: number, length_us: number) => void} ended
 */

/** The first type that a browser records and the server keeps; empty for none. @param {typeof MediaRecorder | undefined} Recorder */
export const recordedType = (Recorder) => TYPES.find((type) => Recorder?.isTypeSupported(type)) ?? "";

export class SoundRecorder {
  #stream;
  #now_us;
  #taker;
  #Recorder;
  #fails;
  /** Those that record: two of them while pieces overlap. @type {Set<MediaRecorder>} */
  #recorders = new Set();
  #isOver = false;
  /** @type {(() => void)[]} */
  #waiting = [];

  /**
   * Throws if the browser cannot record the stream.
   * @param {MediaStream} stream @param {() => number} now_us class time @param {Taker} taker @param {typeof MediaRecorder} Recorder
   * @param {() => void} fails called if the browser ends the recording
   */
  constructor(stream, now_us, taker, Recorder, fails) {
    this.#stream = stream;
    this.#now_us = now_us;
    this.#taker = taker;
    this.#Recorder = Recorder;
    this.#fails = fails;
    this.#begin();
  }

  /** Ends the piece; resolves once all of it was delivered. */
  stop() {
    this.#isOver = true;
    for (const one of this.#recorders) if (one.state !== "inactive") one.stop();
    return this.#recorders.size ? new Promise((resolve) => this.#waiting.push(() => resolve(undefined))) : Promise.resolve();
  }

  #begin() {
    const type = recordedType(this.#Recorder);
    const recorder = new this.#Recorder(this.#stream, { mimeType: type, audioBitsPerSecond: BITS_A_SECOND });
    let piece = 0;
    let at_us = 0;
    let slices = 0;
    recorder.addEventListener("start", () => {
      at_us = Math.round(this.#now_us());
      piece = Math.floor(at_us / 1000);
      this.#taker.began({ piece, at_us, type: type.split(";")[0] });
    });
    recorder.addEventListener("dataavailable", ({ data }) => {
      if (!data.size) return;
      this.#taker.slice(piece, slices++, data);
      if (slices === PIECE_SLICES - 1 && !this.#isOver) this.#beginNext();
      if (slices === PIECE_SLICES && recorder.state !== "inactive") recorder.stop();
    });
    recorder.addEventListener("stop", () => {
      this.#recorders.delete(recorder);
      this.#taker.ended(piece, slices, Math.round(this.#now_us()) - at_us);
      if (this.#recorders.size) return;
      for (const tell of this.#waiting.splice(0)) tell();
      if (!this.#isOver) this.#fails();
    });
    recorder.start(SLICE_MS);
    this.#recorders.add(recorder);
  }

  /** If it cannot begin, the recording ends with the present piece. */
  #beginNext() {
    try {
      this.#begin();
    } catch {
      // "stop" of the present recorder says so.
    }
  }
}
