// Reads a log once, batch by batch, in chunks: what is in it, and which rules it breaks. Memory does not grow with the file.
import { HEADER_BYTES, MIN_LENGTH, LENGTH_END, PREFIX_BYTES } from "./batch.js";
import { int64 } from "./bytes.js";
import { crc32, crc32c } from "./checksums.js";
import { CODECS } from "./decompress.js";
import { Rows } from "./rows.js";
import { MovingWindow } from "./window.js";

/** @import { IndexLinks, TimeLinks, TransactionLinks } from "./links.js" */

/** The number of bars in the picture of a log. */
const BINS = 240;
const CRC_FROM = 21;
const LEGACY_CRC_FROM = 16;
const MAX_RELATIVE_OFFSET = 2 ** 31 - 1;
const MAX_EPOCHS = 1000;
/** Int positions end here. */
const MAX_LOG_BYTES = 2 ** 31 - 1;

/**
 * The links are notified of each batch.
 * @typedef {{ index: IndexLinks | null, times: TimeLinks | null, transactions: TransactionLinks | null }} Links
 */

export class Scan {
  rows = new Rows();
  /** Position of the first unread byte. */
  position = 0;
  records = 0;
  controls = 0;
  transactional = 0;
  wrappers = 0;
  first = -1;
  last = -1;
  youngest = -1;
  oldest = -1;
  /** Batches by name of the codec, and by magic. */
  codecs = /** @type {Record<string, number>} */ ({});
  magics = /** @type {Record<number, number>} */ ({});
  /** First offsets by leader epoch, in the order in which they come. */
  epochs = /** @type {{epoch: number, offset: number}[]} */ ([]);
  /** Batches, control batches and broken rules by part of the file. */
  bins = { batches: new Uint32Array(BINS), controls: new Uint32Array(BINS), faults: new Uint32Array(BINS) };
  isWhole = false;
  isCancelled = false;

  #file;
  #base;
  #findings;
  #chunk;
  /** The window, while it reads. @type {MovingWindow | null} */
  #moving = null;

  /**
   * @param {import("./window.js").Source} file
   * @param {number | null} base the offset in the file's name
   * @param {import("./findings.js").Findings} findings
   * @param {number} [chunk] bytes that are read at once
   */
  constructor(file, base, findings, chunk) {
    this.#file = file;
    this.#base = base;
    this.#findings = findings;
    this.#chunk = chunk;
  }

  get #window() {
    if (!this.#moving) throw new Error("the log is not being read");
    return this.#moving;
  }

  /** A broken rule at the batch that is being read. @param {string} rule @param {Record<string, unknown>} [values] */
  #wrong(rule, values = {}) {
    this.#findings.add(rule, this.position, values);
    this.bins.faults[this.#bin()] += 1;
  }

  #bin = () => Math.min(BINS - 1, Math.floor((this.position / this.#file.size) * BINS));

  /** Reads all. @param {Links} links @param {() => Promise<void>} progress waited for after each chunk */
  async run(links, progress) {
    const { size } = this.#file;
    this.#moving = new MovingWindow(this.#file, this.#chunk);
    if (size > MAX_LOG_BYTES) this.#wrong("too_long", { n: size });
    while (this.position < size && !this.isCancelled) {
      if (!this.#window.has(this.position, Math.min(HEADER_BYTES, size - this.position))) {
        await this.#window.load(this.position, HEADER_BYTES);
        await progress();
      }
      const length = await this.#length();
      if (!length) break;
      if (!this.#window.has(this.position, length) && length <= this.#window.chunk) {
        await this.#window.load(this.position, length);
        await progress();
      }
      const crc = this.#window.has(this.position, length) ? null : await this.#longChecksum(length, progress);
      this.#batch(length, crc, links);
      this.position += length;
    }
    this.isWhole = this.position === size;
    if (this.isCancelled) this.#findings.add("cancelled", this.position, { n: size - this.position });
    else {
      links.index?.end(this.isWhole);
      links.times?.end(this.isWhole);
    }
    await this.#window.close();
    this.#moving = null;
  }

  /** The size of the batch at the position. 0 where none can be: the reading ends there, as a broker's would. */
  async #length() {
    const { view, bytes, from } = this.#window;
    const at = this.position - from;
    const left = this.#file.size - this.position;
    if (left < PREFIX_BYTES) return this.#stop("torn_header", { n: left, expected: HEADER_BYTES });
    const length = view.getInt32(at + 8);
    const magic = bytes[at + LEGACY_CRC_FROM];
    if (!length && !magic && (await this.#isZero())) return this.#stop("zeros", { n: left });
    const least = magic < 2 ? MIN_LENGTH + (magic ? 8 : 0) : HEADER_BYTES - LENGTH_END;
    if (magic > 2) return this.#stop("magic", { magic, n: left });
    if (length < least) return this.#stop("length_small", { n: length, least });
    if (length + LENGTH_END > this.#file.size) return this.#stop("length_huge", { n: length, size: this.#file.size });
    if (length + LENGTH_END > left) return this.#stop("torn_tail", { n: length + LENGTH_END, left });
    return length + LENGTH_END;
  }

  /** @param {string} rule @param {Record<string, unknown>} values */
  #stop(rule, values) {
    this.#wrong(this.position || rule === "zeros" || rule === "torn_header" ? rule : "no_log", values);
    return 0;
  }

  /** Whether there are only zeros from the position on. */
  async #isZero() {
    const window = new MovingWindow(this.#file);
    let isZero = true;
    for (let position = this.position; isZero && position < this.#file.size; position += window.chunk) {
      await window.load(position, 1);
      isZero = !this.isCancelled && !window.bytes.some((byte) => byte !== 0);
    }
    await window.close();
    return isZero;
  }

  /** The checksum of a batch that is larger than the window. @param {number} length @param {() => Promise<void>} progress */
  async #longChecksum(length, progress) {
    const isLegacy = this.#window.bytes[this.position - this.#window.from + LEGACY_CRC_FROM] < 2;
    const [update, skipped] = isLegacy ? [crc32, LEGACY_CRC_FROM] : [crc32c, CRC_FROM];
    const window = new MovingWindow(this.#file);
    let crc = 0;
    for (let at = skipped; at < length && !this.isCancelled; at += window.chunk) {
      await window.load(this.position + at, 1);
      crc = update(window.bytes, 0, Math.min(window.chunk, length - at), crc);
      await progress();
    }
    await window.close();
    return crc;
  }

  /** @param {number} length @param {number | null} crc already computed @param {Links} links */
  #batch(length, crc, links) {
    const { view, bytes, from } = this.#window;
    const at = this.position - from;
    const magic = bytes[at + LEGACY_CRC_FROM];
    const isLegacy = magic < 2;
    const base = int64(view, at);
    const attributes = isLegacy ? bytes[at + LEGACY_CRC_FROM + 1] : view.getInt16(at + 21);
    const codec = attributes & 7;
    const last = isLegacy ? base : base + view.getInt32(at + 23);
    const youngest = isLegacy ? (magic ? int64(view, at + 18) : -1) : int64(view, at + 35);
    const stored = view.getUint32(at + (isLegacy ? LENGTH_END : 17));
    const computed = crc ?? (isLegacy ? crc32(bytes, at + LEGACY_CRC_FROM, at + length) : crc32c(bytes, at + CRC_FROM, at + length));
    const row = this.rows.count;

    if (!this.isCancelled && stored !== computed) this.#wrong("crc", { stored, computed });
    this.#checkOffsets(base, last, isLegacy ? last : base);
    if (codec >= CODECS.length) this.#wrong("codec", { codec });
    const before = this.youngest;
    if (row === 0) this.first = base;
    this.last = last;
    this.youngest = Math.max(this.youngest, youngest);
    if (youngest >= 0 && (this.oldest < 0 || youngest < this.oldest)) this.oldest = youngest;
    this.rows.add(this.position, base);
    this.#count(codec, magic);
    const isControl = isLegacy ? this.#legacy(codec) : this.#modern(view, at, attributes, base, last);
    links.index?.batch(row, this.position, last);
    links.times?.batch(row, last, before, this.youngest);
    links.transactions?.batch(row, base, last, isControl);
  }

  /** @param {number} base @param {number} last @param {number} least the offset that must not be below that of the file's name */
  #checkOffsets(base, last, least) {
    if (last < base) this.#wrong("delta_negative", { base, last });
    if (this.rows.count && base <= this.last) this.#wrong("offsets_rise", { base, before: this.last });
    if (this.#base === null) return;
    if (least < this.#base) this.#wrong("before_base", { offset: base, base: this.#base });
    if (last - this.#base > MAX_RELATIVE_OFFSET) this.#wrong("beyond_base", { offset: last, base: this.#base });
  }

  /** @param {number} codec @param {number} magic */
  #count(codec, magic) {
    const name = CODECS[codec] ?? String(codec);
    this.codecs[name] = (this.codecs[name] ?? 0) + 1;
    this.magics[magic] = (this.magics[magic] ?? 0) + 1;
    this.bins.batches[this.#bin()] += 1;
  }

  /** @param {number} codec */
  #legacy(codec) {
    if (codec) this.wrappers += 1;
    else this.records += 1;
    return false;
  }

  /**
   * What only batches of magic 2 have; whether it is a control batch.
   * @param {DataView} view
   * @param {number} at
   * @param {number} attributes
   * @param {number} base
   * @param {number} last
   */
  #modern(view, at, attributes, base, last) {
    const epoch = view.getInt32(at + 12);
    const count = view.getInt32(at + 57);
    const isControl = (attributes & 32) > 0;
    if (count < 0) this.#wrong("count_negative", { n: count });
    else if (count > last - base + 1 && last >= base) this.#wrong("count", { n: count, offsets: last - base + 1 });
    const newest = this.epochs[this.epochs.length - 1];
    if (newest && epoch < newest.epoch) this.#wrong("epoch_falls", { epoch, before: newest.epoch });
    else if ((!newest || epoch > newest.epoch) && this.epochs.length < MAX_EPOCHS) this.epochs.push({ epoch, offset: base });
    this.records += Math.max(0, count);
    this.transactional += attributes & 16 && !isControl ? 1 : 0;
    if (isControl) {
      this.controls += 1;
      this.bins.controls[this.#bin()] += 1;
    }
    return isControl;
  }
}
