// How late the picture is: from the server's stamp on what came to the end of the frame that drew it.

const LATENCIES = 4096;

export class Painted {
  /** Milliseconds, the last few thousand. @type {number[]} */
  latencies = [];
  /** Stamps of frames that are not painted yet. @type {number[]} */
  #stamps = [];

  /** @param {number} sent_ms the server's stamp, milliseconds since 1970 */
  came(sent_ms) {
    this.#stamps.push(sent_ms);
  }

  /**
   * Everything received so far is drawn now.
   * @param {boolean} counts is that what the page shows?
   */
  drawn(counts) {
    const now = Date.now();
    if (counts) for (const stamp of this.#stamps) this.latencies.push(now - stamp);
    if (this.latencies.length > LATENCIES) this.latencies.splice(0, this.latencies.length - LATENCIES);
    this.#stamps.length = 0;
  }
}
