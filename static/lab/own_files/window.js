// A part of a file in memory: the file itself may be far larger.

const CHUNK_BYTES = 1024 * 1024;

/** What is needed of a File or Blob. @typedef {{size: number, slice: (from: number, to: number) => {arrayBuffer: () => Promise<ArrayBuffer>}}} Source */

/** @param {Source} file @param {number} from @param {number} to */
export const readBytes = async (file, from, to) => new Uint8Array(await file.slice(from, Math.min(to, file.size)).arrayBuffer());

export class Window {
  /** @param {Source} file @param {number} [chunk] bytes that are read at once */
  constructor(file, chunk = CHUNK_BYTES) {
    this.file = file;
    this.chunk = chunk;
    this.from = 0;
    this.bytes = new Uint8Array();
    this.view = new DataView(this.bytes.buffer);
  }

  /** @param {number} position @param {number} length */
  has = (position, length) => position >= this.from && position + length <= this.from + this.bytes.length;

  /** Brings some bytes into the window, as far as the file has them. @param {number} position @param {number} length */
  async load(position, length) {
    this.bytes = await readBytes(this.file, position, position + Math.max(this.chunk, length));
    this.view = new DataView(this.bytes.buffer);
    this.from = position;
  }
}
