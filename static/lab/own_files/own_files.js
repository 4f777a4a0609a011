// The visitor's files: what each is, what is in it, and which rules it breaks. Runs in a worker.
import { HEADER_BYTES, controlOf, fieldsOf, openBatch } from "./batch.js";
import { Unreadable } from "./bytes.js";
import { coordinatorRecord, meaningOf } from "./coordinator_records.js";
import { CODECS } from "./decompress.js";
import { Findings } from "./findings.js";
import { IndexLinks, NO_ROW, TimeLinks, TransactionLinks } from "./links.js";
import { SEGMENT_KINDS, entryAt, firstOffset, holdsBatch, inListOrder, isLinked, readKind } from "./kinds.js";
import { nameOf } from "./names.js";
import { preview } from "./preview.js";
import { Scan } from "./scan.js";
import { MAX_TABLE_BYTES } from "./tables.js";
import { readBytes } from "./window.js";

/** A larger batch is not opened: its header, its checksum and its bytes are shown. */
const MAX_BATCH_BYTES = 64 * 1024 * 1024;
const SHOWN_FINDINGS = 500;

/** @import { Field } from "./batch.js" */
/** @import { Meaning } from "./coordinator_records.js" */
/** @import { Table } from "./kinds.js" */
/** @import { AbortedTransaction, OffsetEntries, TimeEntries } from "./tables.js" */
/** @import { Links } from "./scan.js" */

/**
 * @typedef {{
 * id: number, name: string, folder: string, size: number, kind: import("./names.js").Kind, base: number | null, stem: string,
 * state: string,
 * source: import("./window.js").Source, status: "waiting" | "reading" | "done", findings: Findings, scan: Scan | null, table:
 * Table | null, rows: Uint32Array | null,
 * }} OwnFile
 * @typedef {{ source: import("./window.js").Source, name: string, folder: string }} Given
 * @typedef {{ id: number, first: number, count: number }} Page
 * @typedef {Awaited<ReturnType<typeof openBatch>>} Opened
 * @typedef {{ base: number | null, size: number, count: number }} TableSummary
 * @typedef {TableSummary & Pick<Scan, "position" | "records" | "controls" | "transactional" | "wrappers" | "first" | "last" |
 *   "youngest" | "oldest" | "codecs"
 *   | "magics" | "epochs" | "bins" | "isWhole"> & { meaning: Meaning, entries: Uint32Array | null }} LogSummary
 */

export class OwnFiles {
  /** @type {OwnFile[]} in the order in which they are listed */
  files = [];
  busy = false;
  /** Bytes read of those to read. */
  done = 0;
  total = 0;
  #changed;
  #ids = 0;
  /** The batch that is open. @type {{ id: number, row: number, bytes: Uint8Array, batch: Opened } | null} */
  #opened = null;
  /** @type {Scan | null} */
  #scanning = null;
  #isCancelled = false;
  #adding = Promise.resolve();
  /** Questions that wait for an answer: reading waits for them. */
  questions = 0;

  /** @param {() => void} changed called when something is known that was not, also within a long reading */
  constructor(changed = () => {}) {
    this.#changed = changed;
  }

  /**
   * Takes files in and reads them, after those that were given before; a file of the same folder and name is replaced.
   * @param {Given[]} given
   * @returns {Promise<void>} ends when all are read
   */
  add(given) {
    this.#adding = this.#adding.then(() => this.#add(given));
    return this.#adding;
  }

  /** @param {Given[]} given */
  async #add(given) {
    const touched = new Set();
    for (const { source, name, folder } of given) {
      const old = this.files.findIndex((file) => file.name === name && file.folder === folder);
      const file = /** @type {OwnFile} */ ({
        id: ++this.#ids, name, folder, size: source.size, ...nameOf(name), source, status: "waiting", findings: new Findings(),
          scan: null, table: null, rows: null,
      });
      this.files.splice(old < 0 ? this.files.length : old, old < 0 ? 0 : 1, file);
      touched.add(this.#segment(file));
    }
    this.files.sort(inListOrder);
    /** @type {Map<string, OwnFile[]>} */
    const segments = new Map();
    for (const file of this.files) {
      const key = this.#segment(file);
      if (touched.has(key)) segments.set(key, [...(segments.get(key) ?? []), file]);
    }
    this.busy = true;
    this.#isCancelled = false;
    this.done = 0;
    this.total = [...segments.values()].flat().reduce((sum, { size }) => sum + size, 0);
    this.#opened = null;
    for (const files of segments.values()) await this.#read(files).catch((error) => this.#fail(files, error));
    this.busy = false;
    this.#changed();
  }

  /**
   * A file may have been changed or removed on the disk since it was given: the browser says NotReadableError.
   * @param {OwnFile[]} files
   * @param {unknown} error
   */
  #fail(files, error) {
    for (const file of files) if (file.status === "reading") file.findings.add("unreadable", 0, { said: String(error) });
    for (const file of files) file.status = "done";
    this.#scanning = null;
  }

  /** Stops reading. What is known by then stays. */
  cancel() {
    this.#isCancelled = true;
    if (this.#scanning) this.#scanning.isCancelled = true;
  }

  clear() {
    this.cancel();
    this.files = [];
    this.#opened = null;
  }

  /** @param {Pick<OwnFile, "folder" | "stem">} file */
  #segment = ({ folder, stem }) => `${folder}/${stem}`;

  // --- reading ---------------------------------------------------------------------------------------------------------------

  /** Reads the files of one segment: the small ones first, then the log against them. @param {OwnFile[]} files */
  async #read(files) {
    for (const file of files) {
      file.findings = new Findings();
      file.status = "waiting";
      file.status = "reading";
      await this.#identify(file);
      file.status = "waiting";
    }
    const tables = files.filter(({ kind }) => kind !== "log");
    for (const file of tables) {
      await this.#readTable(file);
      this.done += file.size;
      this.#changed();
    }
    const log = files.find(({ kind }) => kind === "log");
    if (log) await this.#readLog(log, tables);
    else for (const file of tables) if (isLinked(file) && file.table?.count) file.findings.add("log_missing", 0,
      { name: `${file.stem}.log` });
  }

  /** The kind of the file, if its name does not show it or is wrong. @param {OwnFile} file */
  async #identify(file) {
    if (file.kind !== "log" && (await holdsBatch(file.source))) {
      file.findings.add(file.kind === "foreign" ? "extension" : "wrong_kind", 0, { kind: file.kind });
      file.kind = "log";
    } else if (file.kind === "foreign") {
      const start = await readBytes(file.source, 0, 16);
      if (start[0] === 0x30 && start[1] === 0x0a && start[2] >= 0x30 && start[2] <= 0x39) {
        file.findings.add("extension", 0, { kind: "checkpoint" });
        file.kind = "offsets";
      } else file.findings.add("foreign", 0, {});
    }
    if (SEGMENT_KINDS.includes(nameOf(file.name).kind) && file.base === null) file.findings.add("name", 0, { stem: file.stem });
  }

  /** @param {OwnFile} file */
  async #readTable(file) {
    file.status = "reading";
    if (file.size > MAX_TABLE_BYTES) file.findings.add("table_long", MAX_TABLE_BYTES, { n: file.size, most: MAX_TABLE_BYTES });
    const bytes = file.kind === "foreign" ? new Uint8Array() : await readBytes(file.source, 0, MAX_TABLE_BYTES);
    const table = readKind(file, bytes);
    file.table = table;
    const { count, found } = table;
    const isNonsense = (file.kind === "index" || file.kind === "timeindex") && count > 1 && found.length * 2 > count;
    if (isNonsense) file.findings.add("table_nonsense", 0, { bad: found.length, n: count, kind: file.kind });
    else file.findings.addAll(found);
    file.status = "done";
  }

  /** @param {OwnFile} log @param {OwnFile[]} tables */
  async #readLog(log, tables) {
    log.status = "reading";
    const scan = new Scan(log.source, log.base, log.findings);
    log.scan = scan;
    this.#scanning = scan;
    scan.isCancelled = this.#isCancelled;
    const before = this.done;
    const base = log.base ?? (await firstOffset(log.source));
    /** @type {Links} */
    const links = { index: null, times: null, transactions: null };
    for (const file of tables) {
      if (!isLinked(file) || !file.table) continue;
      const { entries, rows } = file.table;
      if (file.kind === "index") links.index = new IndexLinks(/** @type {OffsetEntries} */ (entries), file.findings, base);
      if (file.kind === "timeindex") links.times = new TimeLinks(/** @type {TimeEntries} */ (entries), file.findings, base);
      if (file.kind === "txnindex") links.transactions = new TransactionLinks(/** @type {AbortedTransaction[]} */ (rows), file.findings);
    }
    await scan.run(links, async () => {
      this.done = before + scan.position;
      this.#changed();
      do await otherTasks();
      while (this.questions && !scan.isCancelled);
    });
    for (const file of tables) {
      if (file.kind === "index" && links.index) file.rows = links.index.rows;
      if (file.kind === "timeindex" && links.times) file.rows = links.times.rows;
      if (file.kind === "txnindex" && links.transactions) file.rows = links.transactions.rows;
    }
    this.#scanning = null;
    this.done = before + log.size;
    log.status = "done";
    this.#changed();
  }

  // --- answers ---------------------------------------------------------------------------------------------------------------

  /** What the list of files and the list of faults show. */
  state() {
    const faults = this.files.flatMap(({ id, findings }) => findings.list.map((one) => ({ file: id, ...one })));
    return {
      busy: this.busy, done: this.done, total: this.total,
      files: this.files.map(({ id, name, folder, size, kind, base, stem, state, status, findings, scan, table }) => ({
        id, name, folder, size, kind, base, stem, state, status, faults: findings.total, notes: findings.notes, count: scan?.rows.count
          ?? table?.count ?? 0,
      })),
      faults: faults.slice(0, SHOWN_FINDINGS),
      faultsTotal: this.files.reduce((sum, { findings }) => sum + findings.total, 0),
    };
  }

  /** @param {number} id */
  #file(id) {
    const file = this.files.find((one) => one.id === id);
    if (!file) throw new Unreadable("gone");
    return file;
  }

  /** @param {number} id */
  #log(id) {
    const file = this.#file(id);
    if (!file.scan) throw new Unreadable("gone");
    return { file, scan: file.scan };
  }

  /** What a file holds as a whole. @param {{ id: number }} asked @returns {TableSummary | LogSummary} */
  summary({ id }) {
    const { scan, table, base, folder, size } = this.#file(id);
    if (!scan) return { base, size, count: table?.count ?? 0 };
    const { records, controls, transactional, wrappers, first, last, youngest, oldest, codecs, magics, epochs, bins, isWhole, position,
      rows } = scan;
    return {
      base, size, count: rows.count, position, records, controls, transactional, wrappers, first, last, youngest, oldest, codecs, magics,
        epochs, bins, isWhole,
      meaning: meaningOf(folder), entries: this.#entryMarks(id),
    };
  }

  /** Where the entries of the offset index point to: counts by part of the log. @param {number} id */
  #entryMarks(id) {
    const log = this.#file(id);
    const index = this.files.find((file) => file.kind === "index" && this.#segment(file) === this.#segment(log));
    if (!index?.table?.entries?.positions) return null;
    const marks = new Uint32Array(log.scan?.bins.batches.length ?? 0);
    for (const position of index.table.entries.positions) marks[Math.min(marks.length - 1,
      Math.floor((position / log.size) * marks.length))] += 1;
    return marks;
  }

  /** Headers of the batches from a row on. @param {Page} page */
  async rows({ id, first, count }) {
    const { file, scan } = this.#log(id);
    const headers = await scan.rows.read(file.source, first, count);
    const marks = this.#marks(file, first, count);
    return headers.map((header) => ({
      ...header, marks: marks[header.row - first], codec: CODECS[header.codec] ?? String(header.codec),
      rules: file.findings.list.filter(({ position }) => position === header.position).map(({ rule }) => rule),
    }));
  }

  /**
   * Kinds of the indexes that have an entry for a batch, by row.
   * @param {OwnFile} log
   * @param {number} first
   * @param {number} count
   * @returns {string[][]}
   */
  #marks(log, first, count) {
    const marks = Array.from({ length: count }, () => /** @type {string[]} */ ([]));
    for (const { kind, rows, ...file } of this.files) {
      if (!rows || this.#segment(file) !== this.#segment(log)) continue;
      for (const row of rows) if (row >= first && row < first + count && !marks[row - first].includes(kind)) marks[row - first].push(kind);
    }
    return marks;
  }

  /** Entries of an index or lines of a table, each with the row of its batch if that is known. @param {Page} page */
  entries({ id, first, count }) {
    const { kind, base, table, rows } = this.#file(id);
    /** @param {number} n */
    const rowOf = (n) => (rows && rows[n] !== NO_ROW ? rows[n] : null);
    const end = Math.min(first + count, table?.count ?? 0);
    return Array.from({ length: Math.max(0, end - first) }, (_, place) => {
      const n = first + place;
      return { n, row: rowOf(n), ...(table && entryAt(kind, base ?? 0, table, n)) };
    });
  }

  /** The log of the same segment, where an entry leads to. @param {{ id: number }} asked */
  logOf({ id }) {
    const file = this.#file(id);
    return this.files.find((one) => one.kind === "log" && this.#segment(one) === this.#segment(file))?.id ?? null;
  }

  /** Entries of the indexes that point at a batch. @param {{ id: number, row: number }} batch */
  entriesOf({ id, row }) {
    const log = this.#file(id);
    return this.files.filter((file) => file.rows && this.#segment(file) === this.#segment(log))
      .flatMap((file) => {
        const n = file.rows ? file.rows.indexOf(row) : -1;
        return n < 0 ? [] : [{ id: file.id, kind: file.kind, ...this.entries({ id: file.id, first: n, count: 1 })[0] }];
      });
  }

  /** The row of an offset, or of a byte of the file. @param {{ id: number, offset?: number, position?: number }} asked */
  async find({ id, offset, position }) {
    const { file, scan } = this.#log(id);
    if (!scan.rows.count) return null;
    return offset === undefined ? scan.rows.findPosition(file.source, position ?? 0) : scan.rows.findOffset(file.source, offset);
  }

  /** @param {number} id @param {number} row @returns {Promise<{ bytes: Uint8Array, batch: Opened }>} */
  async #open(id, row) {
    if (this.#opened?.id === id && this.#opened.row === row) return this.#opened;
    const { file, scan } = this.#log(id);
    const [header] = await scan.rows.read(file.source, row, 1);
    if (!header) throw new Unreadable("gone");
    if (header.size > MAX_BATCH_BYTES) {
      const bytes = await readBytes(file.source, header.position, header.position + HEADER_BYTES);
      const error = new Unreadable("batch_large", { n: header.size, most: MAX_BATCH_BYTES });
      return { bytes, batch: { header, computed: null, body: bytes, records: [], error } };
    }
    const bytes = await readBytes(file.source, header.position, header.position + header.size);
    const opened = { id, row, bytes, batch: await openBatch(bytes, header.position) };
    this.#opened = opened;
    return opened;
  }

  /**
   * A batch with some of its records. `meaning` says how keys and values are read.
   * @param {{ id: number, row: number, from?: number, count?: number, meaning?: Meaning }} asked
   */
  async batch({ id, row, from = 0, count = 100, meaning = "plain" }) {
    const { batch } = await this.#open(id, row);
    const { header, computed, records, error } = batch;
    const bodyAt = header.codec || header.magic < 2 ? null : header.position + HEADER_BYTES;
    return {
      row, ...header, codec: CODECS[header.codec] ?? String(header.codec), computed, known: records.length, from,
      error: error && { rule: error.rule, values: error.values },
      records: records.slice(from, from + count).map((record) => ({
        offset: record.offset, timestamp: record.timestamp, sequence: record.sequence, size: record.size,
        position: bodyAt === null ? (header.codec ? null : header.position) : bodyAt + record.at,
        key: preview(record.key), value: preview(record.value),
          headers: record.headers.map(([name, value]) => ({ name, value: preview(value) })),
        control: header.isControl ? controlOf(record) : null,
        decoded: meaning === "plain" || header.isControl ? null : coordinatorRecord(meaning, record.key, record.value),
      })),
      entries: this.entriesOf({ id, row }),
    };
  }

  /** Bytes of a batch and what they mean. @param {{ id: number, row: number, from: number, length: number }} asked */
  async hex({ id, row, from, length }) {
    const { bytes, batch } = await this.#open(id, row);
    const { header, records } = batch;
    const start = Math.max(0, from);
    const { source } = this.#file(id);
    const to = Math.min(start + length, header.position + header.size);
    return { from: start, data: await readBytes(source, start, to), fields: fieldsOf(bytes, header, records, start, to),
      size: header.size, position: header.position };
  }

  /** Bytes of any file. @param {{ id: number, from: number, length: number }} asked */
  async bytes({ id, from, length }) {
    const { source } = this.#file(id);
    return { from, data: await readBytes(source, from, from + length), fields: /** @type {Field[]} */ ([]), size: source.size,
      position: 0 };
  }
}

/** Lets everything run that waits for its turn. (A timer would wait for milliseconds.) */
const otherTasks = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port2.onmessage = () => {
    port2.close();
    resolve(undefined);
  };
  port1.postMessage(0);
});
