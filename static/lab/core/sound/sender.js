// Sends what an outbox keeps, one slice after the other, until the server has acknowledged it.

/** @import { KeptPiece, Outbox } from "./outbox.js" */
/** @import { Taker } from "./recorder.js" */

const AGAIN_MS = 3000;
/** The server rejects older sound. */
const MAX_AGE_MS = 30 * 60_000;
/** With these answers the same request succeeds later. */
const LATER = new Set([408, 429, 500, 502, 503, 504]);
/** The server has no space: what waits is sent when the next sound comes. */
const IS_FULL = 507;

/** @param {ArrayBuffer} data */
const digestOf = async (data) =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", data)), (one) => one.toString(16).padStart(2, "0")).join("");

export class SoundSender {
  #outbox;
  #address;
  #options;
  /** @type {Set<number>} pieces that this page still records */
  #recorded = new Set();
  /** What is written to the outbox, in order. */
  #writing = Promise.resolve();
  /** @type {Promise<void> | null} */
  #sending = null;
  #wasAsked = false;

  /**
   * @param {Outbox} outbox
   * @param {string} address of the class's sound, ending in "/"
   * @param {{ csrf: string, fetch: typeof fetch, now_ms: () => number, sleep: (ms: number) => Promise<void>,
   *   told: (state: { waiting: number, offline: boolean, refusal: any }) => void, failed: () => void }} options `told` is called
   *   as slices go and come, `failed` when the browser cannot keep what was recorded
   */
  constructor(outbox, address, options) {
    this.#outbox = outbox;
    this.#address = address;
    this.#options = options;
  }

  /** What a recorder tells goes here. @returns {Taker} */
  get taker() {
    /** @type {Map<number, { piece: number, at_us: number, type: string }>} */
    const begun = new Map();
    return {
      began: (piece) => {
        begun.set(piece.piece, piece);
        this.#recorded.add(piece.piece);
        this.#write(() => this.#outbox.putPiece({ ...piece, slices: -1, length_us: 0, kept_ms: this.#options.now_ms() }));
      },
      slice: (piece, index, data) => this.#write(async () => this.#outbox.putSlice(piece, index, await data.arrayBuffer())),
      ended: (piece, slices, length_us) => this.#write(async () => {
        const known = begun.get(piece);
        if (known) await this.#outbox.putPiece({ ...known, slices, length_us, kept_ms: this.#options.now_ms() });
        this.#recorded.delete(piece);
      }),
    };
  }

  /** @param {() => Promise<void>} write */
  #write(write) {
    this.#writing = this.#writing.then(write).catch(() => this.#options.failed());
    void this.#writing.then(() => this.send());
  }

  /** Sends everything that waits; resolves once nothing does. */
  async send() {
    await this.#writing;
    this.#wasAsked = true;
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = null));
    return this.#sending;
  }

  async #sendAll() {
    while (this.#wasAsked) {
      this.#wasAsked = false;
      for (const { piece } of await this.#outbox.pieces()) if (!(await this.#sendPiece(piece))) return;
      await this.#tell(false);
    }
  }

  /** @param {boolean} offline @param {any} [refusal] */
  async #tell(offline, refusal = null) {
    this.#options.told({ waiting: await this.#outbox.waiting(), offline, refusal });
  }

  /** Returns whether the server has space. @param {number} number of the piece */
  async #sendPiece(number) {
    // Looked at before its slices are: of a piece that is over, all are there. Sending may take until much later.
    const goesOn = this.#recorded.has(number);
    /** @type {KeptPiece | undefined} */
    const piece = (await this.#outbox.pieces()).find((one) => one.piece === number);
    if (!piece) return true;
    const isOver = piece.slices >= 0 || !goesOn;
    if (this.#options.now_ms() - piece.kept_ms > MAX_AGE_MS && isOver) {
      await this.#outbox.dropPiece(number);
      return true;
    }
    for (const { index, data } of await this.#outbox.slices(number)) {
      const query = `at_us=${piece.at_us}&digest=${await digestOf(data)}`;
      const address = `${this.#address}${number}/${index}?${query}`;
      const has_space = await this.#request(address, { method: "PUT", body: data, headers: { "Content-Type": piece.type } });
      if (!has_space) return false;
      // It is kept, or it was refused and would be again.
      await this.#outbox.dropSlice(number, index);
      await this.#tell(false);
    }
    if (!isOver) return true;
    const told = { slices: Math.max(0, piece.slices), length_us: Math.max(0, piece.length_us), gives_up: true };
    const headers = { "Content-Type": "application/json" };
    const has_space = await this.#request(`${this.#address}${number}/end`, { method: "POST", body: JSON.stringify(told), headers });
    if (has_space) await this.#outbox.dropPiece(number);
    return has_space;
  }

  /**
   * Sends until there is an answer; returns whether the server has space. A refusal is reported.
   * @param {string} address @param {RequestInit} request
   */
  async #request(address, request) {
    const { csrf, fetch, sleep } = this.#options;
    const headers = { .../** @type {Record<string, string>} */ (request.headers), "X-CSRFToken": csrf };
    for (;;) {
      const answer = await fetch(address, { ...request, credentials: "same-origin", headers }).catch(() => null);
      if (answer?.ok) return true;
      if (answer && !LATER.has(answer.status)) {
        const refusal = await answer.json().catch(() => null);
        await this.#tell(false, refusal ?? { what: `HTTP ${answer.status}`, expected: "", todo: "" });
        return answer.status !== IS_FULL;
      }
      await this.#tell(true);
      await sleep(AGAIN_MS);
    }
  }
}
