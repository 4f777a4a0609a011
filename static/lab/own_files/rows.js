// Where the batches of a log are, in bounded memory: every n-th place is kept, with n doubled when there are too many. The
// others are found by walking on from the place before, in the file.
import { HEADER_BYTES, readHeader } from "./batch.js";
import { Window } from "./window.js";

/** @import { Header } from "./batch.js" */
/** @import { Source } from "./window.js" */

/** @typedef {{ row: number } & Header} NumberedHeader */

const MAX_ROWS = 1 << 17;
/** Neighbouring headers come with one reading. */
const WALK_BYTES = 64 * 1024;

export class Rows {
  #positions = new Float64Array(MAX_ROWS);
  #offsets = new Float64Array(MAX_ROWS);
  #kept = 0;
  #stride = 1;
  count = 0;

  /** The next batch of the log. @param {number} position @param {number} offset its first offset */
  add(position, offset) {
    if (this.count % this.#stride === 0) {
      if (this.#kept === MAX_ROWS) this.#thin();
      if (this.count % this.#stride === 0) {
        this.#positions[this.#kept] = position;
        this.#offsets[this.#kept] = offset;
        this.#kept += 1;
      }
    }
    this.count += 1;
  }

  #thin() {
    this.#stride *= 2;
    this.#kept = MAX_ROWS / 2;
    for (let at = 0; at < this.#kept; at++) {
      this.#positions[at] = this.#positions[at * 2];
      this.#offsets[at] = this.#offsets[at * 2];
    }
  }

  /** Headers from a row on. @param {import("./window.js").Source} file @param {number} first @param {number} count */
  async read(file, first, count) {
    /** @type {NumberedHeader[]} */
    const headers = [];
    await this.#walk(file, Math.floor(first / this.#stride), (header, row) => {
      if (row >= first) headers.push({ row, ...header });
      return headers.length < count;
    });
    return headers;
  }

  /**
   * The row of the first batch that ends at or after an offset; the last row when there is none.
   * @param {Source} file
   * @param {number} offset
   */
  findOffset = (file, offset) => this.#find(file, this.#offsets, offset, ({ last }) => Number(last) >= offset);

  /** The row of the batch that a byte belongs to. @param {Source} file @param {number} position */
  findPosition = (file, position) => this.#find(file, this.#positions, position, (header) => header.position + header.size > position);

  /**
   * @param {Source} file
   * @param {Float64Array} keys
   * @param {number} wanted
   * @param {(header: Header) => boolean} isFound
   */
  async #find(file, keys, wanted, isFound) {
    let low = 0;
    for (let high = this.#kept; low < high; ) {
      const middle = (low + high) >> 1;
      if (keys[middle] <= wanted) low = middle + 1;
      else high = middle;
    }
    let found = this.count - 1;
    await this.#walk(file, Math.max(0, low - 1), (header, row) => {
      found = row;
      return !isFound(header);
    });
    return found;
  }

  /**
   * Visits headers from a kept place on, for as long as `visit` wants more.
   * @param {Source} file
   * @param {number} anchor
   * @param {(header: Header, row: number) => boolean} visit
   */
  async #walk(file, anchor, visit) {
    const window = new Window(file, WALK_BYTES);
    let position = this.#positions[anchor];
    for (let row = anchor * this.#stride; row < this.count; row++) {
      if (!window.has(position, HEADER_BYTES)) await window.load(position, HEADER_BYTES);
      const header = readHeader(window.bytes.subarray(position - window.from), position);
      if (!visit(header, row)) return;
      position += header.size;
    }
  }
}
