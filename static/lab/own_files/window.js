// A part of a file in memory: the file itself may be far larger.

const CHUNK_BYTES = 1024 * 1024;
const SCRATCH_BYTES = 256 * 1024;

/** What is needed of a File or Blob. @typedef {Pick<Blob, "size"> & {slice: (from: number, to: number) => Blob}} Source */

/** @param {Source} file @param {number} from @param {number} to */
export const readBytes = async (file, from, to) => new Uint8Array(await file.slice(from, Math.min(to, file.size)).arrayBuffer());

/** For reading here and there. */
export class Window {
  /** @param {Source} file @param {number} [chunk] bytes that are read at once */
  constructor(file, chunk = CHUNK_BYTES) {
    this.file = file;
    this.chunk = chunk;
    this.from = 0;
    /** @type {Uint8Array} */
    this.bytes = new Uint8Array();
    /** @type {DataView} */
    this.view = new DataView(this.bytes.buffer);
  }

  /** @param {number} position @param {number} length */
  has = (position, length) => position >= this.from && position + length <= this.from + this.bytes.length;

  /** Brings some bytes into the window, as far as the file has them. @param {number} position @param {number} length */
  async load(position, length) {
    this.show(await readBytes(this.file, position, position + Math.max(this.chunk, length)), position);
  }

  /** @param {Uint8Array} bytes @param {number} from */
  show(bytes, from) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.from = from;
  }
}

/**
 * For reading from the beginning to the end, always into the same memory: a gibibyte in new buffers would make garbage faster
 * than a busy collector frees it. The previous contents are overwritten.
 */
export class MovingWindow extends Window {
  #buffer = new Uint8Array(Math.min(this.chunk, this.file.size));
  #scratch = new ArrayBuffer(Math.max(1, Math.min(SCRATCH_BYTES, this.file.size)));
  /** @type {ReadableStreamBYOBReader | null} */
  #reader = null;
  /** Byte of the file that the reader gives next. */
  #next = 0;

  /** @param {number} position @param {number} length */
  async load(position, length) {
    const size = Math.min(Math.max(this.chunk, length), this.file.size - position);
    const kept = this.has(position, 1) ? this.bytes.subarray(position - this.from) : new Uint8Array();
    if (size > this.#buffer.length) {
      const larger = new Uint8Array(size);
      larger.set(kept);
      this.#buffer = larger;
    } else this.#buffer.copyWithin(0, kept.byteOffset, kept.byteOffset + kept.length);
    let have = Math.min(kept.length, size);
    for (let got = -1; have < size && got !== 0; have += got) got = await this.#read(position + have, size - have, have);
    this.show(this.#buffer.subarray(0, have), position);
  }

  /** Reads on into the buffer; how many bytes were read. @param {number} position @param {number} wanted @param {number} at */
  async #read(position, wanted, at) {
    if (!this.#reader || this.#next !== position) await this.#start(position);
    if (!this.#reader) {
      const bytes = await readBytes(this.file, position, position + wanted);
      this.#buffer.set(bytes, at);
      return bytes.length;
    }
    const { value } = await this.#reader.read(new Uint8Array(this.#scratch, 0, Math.min(this.#scratch.byteLength, wanted)));
    if (!value) return 0;
    this.#scratch = /** @type {ArrayBuffer} */ (value.buffer);
    this.#buffer.set(value, at);
    this.#next += value.length;
    return value.length;
  }

  /** @param {number} position */
  async #start(position) {
    await this.close();
    try {
      this.#reader = this.file.slice(position, this.file.size).stream().getReader({ mode: "byob" });
      this.#next = position;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // for a browser that cannot read a file into a given buffer
    }
  }

  /** Releases the file. */
  async close() {
    await this.#reader?.cancel();
    this.#reader = null;
  }
}
