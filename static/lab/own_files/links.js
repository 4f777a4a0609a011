// Entries of the indexes against the batches of their log, while the log is read once from its beginning to its end.
import { INDEX_BYTES, TIME_BYTES } from "./tables.js";

export const NO_ROW = 0xffffffff;

/** Numbers of the entries, in the order of a key. @param {ArrayLike<number>} keys */
function inOrder(keys) {
  const order = Uint32Array.from({ length: keys.length }, (_, n) => n);
  return order.sort((a, b) => keys[a] - keys[b] || a - b);
}

/** The offset index (LogSegment.append): an entry is the last offset of a batch, and where a batch begins that leads to it. */
export class IndexLinks {
  #entries;
  #findings;
  #base;
  #order;
  #next = 0;
  /** Entries whose offset is yet to come: releases before 3.9.1 wrote one for an append of several batches. @type {number[]} */
  #waiting = [];

  /**
   * @param {{offsets: Float64Array, positions: Float64Array}} entries
   * @param {import("./findings.js").Findings} findings
   * @param {number} base
   */
  constructor(entries, findings, base) {
    this.#entries = entries;
    this.#findings = findings;
    this.#base = base;
    this.#order = inOrder(entries.positions);
    /** Row of the batch by number of the entry. */
    this.rows = new Uint32Array(entries.offsets.length).fill(NO_ROW);
  }

  /** @param {string} rule @param {number} n */
  #wrong(rule, n) {
    this.#findings.add(rule, n * INDEX_BYTES, { n, offset: this.#base + this.#entries.offsets[n], place: this.#entries.positions[n] });
  }

  /** @param {number} row @param {number} position @param {number} last */
  batch(row, position, last) {
    if (this.#waiting.length)
      this.#waiting = this.#waiting.filter((n) => {
        const offset = this.#base + this.#entries.offsets[n];
        if (offset < last) this.#wrong("index_offset", n);
        return offset > last;
      });
    for (; this.#next < this.#order.length; this.#next++) {
      const n = this.#order[this.#next];
      const place = this.#entries.positions[n];
      if (place > position) return;
      if (place < position) {
        this.#wrong("index_no_batch", n);
        continue;
      }
      this.rows[n] = row;
      const offset = this.#base + this.#entries.offsets[n];
      if (offset < last) this.#wrong("index_offset", n);
      if (offset > last && this.#waiting.length < 64) this.#waiting.push(n);
    }
  }

  /** @param {boolean} isWhole whether the log was read to the last byte */
  end(isWhole) {
    for (const n of this.#waiting) this.#wrong("index_offset", n);
    for (; this.#next < this.#order.length; this.#next++) this.#wrong("index_beyond", this.#order[this.#next]);
    const count = this.rows.length;
    const { byRule } = this.#findings;
    const bad = (byRule.index_no_batch ?? 0) + (byRule.index_offset ?? 0) + (isWhole ? byRule.index_beyond ?? 0 : 0);
    if (count < 2 || bad * 2 <= count) return;
    this.#findings.remove(["index_no_batch", "index_offset", "index_beyond"]);
    this.#findings.add("index_foreign", 0, { bad, n: count });
  }
}

/** The time index: no record up to an entry's offset is younger than its timestamp, and one of them is as young. */
export class TimeLinks {
  #entries;
  #findings;
  #base;
  #order;
  #next = 0;

  /**
   * @param {{timestamps: Float64Array, offsets: Float64Array}} entries
   * @param {import("./findings.js").Findings} findings
   * @param {number} base
   */
  constructor(entries, findings, base) {
    this.#entries = entries;
    this.#findings = findings;
    this.#base = base;
    this.#order = inOrder(entries.offsets);
    this.rows = new Uint32Array(entries.offsets.length).fill(NO_ROW);
  }

  /** @param {string} rule @param {number} n @param {number} most */
  #wrong(rule, n, most) {
    this.#findings.add(rule, n * TIME_BYTES, { n, offset: this.#base + this.#entries.offsets[n], time: this.#entries.timestamps[n], most });
  }

  /**
   * @param {number} row
   * @param {number} last
   * @param {number} before youngest timestamp of the batches before
   * @param {number} most and with this one
   */
  batch(row, last, before, most) {
    for (; this.#next < this.#order.length; this.#next++) {
      const n = this.#order[this.#next];
      const offset = this.#base + this.#entries.offsets[n];
      if (offset > last) return;
      this.rows[n] = row;
      const time = this.#entries.timestamps[n];
      const youngest = offset === last ? most : before;
      if (time < youngest) this.#wrong("time_too_small", n, youngest);
      else if (time > most) this.#wrong("time_unknown", n, most);
    }
  }

  /** @param {boolean} isWhole */
  end(isWhole) {
    for (; this.#next < this.#order.length; this.#next++) this.#wrong("time_beyond", this.#order[this.#next], 0);
    const count = this.rows.length;
    const { byRule } = this.#findings;
    const bad = (byRule.time_too_small ?? 0) + (byRule.time_unknown ?? 0) + (isWhole ? byRule.time_beyond ?? 0 : 0);
    if (count < 2 || bad * 2 <= count) return;
    this.#findings.remove(["time_too_small", "time_unknown", "time_beyond"]);
    this.#findings.add("time_foreign", 0, { bad, n: count });
  }
}

const TRANSACTION_BYTES = 34;

/** The transaction index: each entry ends with the marker of an aborted transaction. */
export class TransactionLinks {
  #entries;
  #findings;
  #order;
  #next = 0;

  /** @param {{lastOffset: bigint}[]} entries @param {import("./findings.js").Findings} findings */
  constructor(entries, findings) {
    this.#entries = entries.map(({ lastOffset }) => Number(lastOffset));
    this.#findings = findings;
    this.#order = inOrder(this.#entries);
    this.rows = new Uint32Array(entries.length).fill(NO_ROW);
  }

  /** @param {number} row @param {number} base @param {number} last @param {boolean} isControl */
  batch(row, base, last, isControl) {
    for (; this.#next < this.#order.length; this.#next++) {
      const n = this.#order[this.#next];
      const offset = this.#entries[n];
      if (offset > last) return;
      if (offset >= base) this.rows[n] = row;
      if (offset < base || !isControl) this.#findings.add("txn_no_marker", n * TRANSACTION_BYTES, { n, offset });
    }
  }
}
