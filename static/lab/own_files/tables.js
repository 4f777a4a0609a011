// The files beside a log: indexes, producer snapshots, checkpoints (KAFKA: OffsetIndex, TimeIndex, TransactionIndex,
// ProducerStateManager, CheckpointFile). Each reader gives entries and the rules that they break on their own.
import { Reader, Unreadable, int64, text, viewOf } from "./bytes.js";
import { crc32c } from "./checksums.js";

/**
 * @typedef {{ rule: string, position: number, values: Record<string, unknown> }} Finding a broken rule at a place of the file
 * @typedef {{ offsets: Float64Array, positions: Float64Array }} OffsetEntries
 * @typedef {{ timestamps: Float64Array, offsets: Float64Array }} TimeEntries
 * @typedef {{ version: number, producerId: bigint, firstOffset: bigint, lastOffset: bigint, lastStableOffset: bigint }} AbortedTransaction
 * @typedef {{ producerId: bigint, producerEpoch: number, lastSequence: number, lastOffset: bigint, offsetDelta: number, timestamp: bigint,
 *             coordinatorEpoch: number, currentTxnFirstOffset: bigint }} ProducerEntry
 * @typedef {{ epoch: number, startOffset: number }} EpochEntry
 * @typedef {{ topic: string, partition: number, offset: number }} OffsetEntry
 */

export const INDEX_BYTES = 8;
export const TIME_BYTES = 12;
const TRANSACTION_BYTES = 34;
/** Ten times what a broker preallocates (log.index.size.max.bytes). Bytes beyond it are not read. */
export const MAX_TABLE_BYTES = 100 * 1024 * 1024;
const MAX_TEXT_BYTES = 1024 * 1024;

/**
 * Number of entries up to the last that is not all zeros: brokers preallocate indexes.
 * @param {Uint8Array} bytes
 * @param {number} size of an entry
 */
function countEntries(bytes, size) {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return Math.ceil(end / size);
}

/** @param {Uint8Array} bytes @param {number} size of an entry @param {number} count @param {Finding[]} found */
function checkLength(bytes, size, count, found) {
  const over = bytes.length % size;
  if (over) found.push({ rule: "table_length", position: bytes.length - over, values: { n: bytes.length, entry: size } });
  const zeros = Math.floor(bytes.length / size) - count;
  if (zeros > 0) found.push({ rule: "table_zeros", position: count * size, values: { n: zeros, bytes: zeros * size } });
}

/** @param {Uint8Array} bytes */
export function readIndex(bytes) {
  const count = Math.min(countEntries(bytes, INDEX_BYTES), Math.floor(bytes.length / INDEX_BYTES));
  const view = viewOf(bytes);
  const entries = { offsets: new Float64Array(count), positions: new Float64Array(count) };
  /** @type {Finding[]} */
  const found = [];
  for (let n = 0; n < count; n++) {
    entries.offsets[n] = view.getInt32(n * INDEX_BYTES);
    entries.positions[n] = view.getInt32(n * INDEX_BYTES + 4);
    if (n && (entries.offsets[n] <= entries.offsets[n - 1] || entries.positions[n] <= entries.positions[n - 1]))
      found.push({ rule: "index_rises", position: n * INDEX_BYTES,
        values: { n, offset: entries.offsets[n], place: entries.positions[n] } });
    else if (entries.offsets[n] < 0 || entries.positions[n] < 0)
      found.push({ rule: "index_negative", position: n * INDEX_BYTES,
        values: { n, offset: entries.offsets[n], place: entries.positions[n] } });
  }
  checkLength(bytes, INDEX_BYTES, count, found);
  return { count, entries, found };
}

/** @param {Uint8Array} bytes */
export function readTimeIndex(bytes) {
  const count = Math.min(countEntries(bytes, TIME_BYTES), Math.floor(bytes.length / TIME_BYTES));
  const view = viewOf(bytes);
  const entries = { timestamps: new Float64Array(count), offsets: new Float64Array(count) };
  /** @type {Finding[]} */
  const found = [];
  for (let n = 0; n < count; n++) {
    entries.timestamps[n] = int64(view, n * TIME_BYTES);
    entries.offsets[n] = view.getInt32(n * TIME_BYTES + 8);
    const position = n * TIME_BYTES;
    if (n && entries.timestamps[n] <= entries.timestamps[n - 1])
      found.push({ rule: "time_rises", position, values: { n, time: entries.timestamps[n], before: entries.timestamps[n - 1] } });
    if (n && entries.offsets[n] < entries.offsets[n - 1])
      found.push({ rule: "time_offset_falls", position, values: { n, offset: entries.offsets[n], before: entries.offsets[n - 1] } });
  }
  checkLength(bytes, TIME_BYTES, count, found);
  return { count, entries, found };
}

/** @param {Uint8Array} bytes */
export function readTransactionIndex(bytes) {
  const count = Math.floor(bytes.length / TRANSACTION_BYTES);
  const reader = new Reader(bytes);
  /** @type {Finding[]} */
  const found = [];
  /** @type {AbortedTransaction[]} */
  const rows = [];
  for (let n = 0; n < count; n++) {
    const position = reader.at;
    const row = { version: reader.int16(), producerId: reader.int64(), firstOffset: reader.int64(), lastOffset: reader.int64(),
      lastStableOffset: reader.int64() };
    rows.push(row);
    if (row.version !== 0) found.push({ rule: "table_version", position, values: { n: row.version, known: 0 } });
    if (row.firstOffset > row.lastOffset) found.push({ rule: "txn_order", position,
      values: { first: row.firstOffset, last: row.lastOffset } });
  }
  checkLength(bytes, TRANSACTION_BYTES, count, found);
  return { count, rows, found };
}

const SNAPSHOT_HEADER_BYTES = 10;
const SNAPSHOT_ENTRY_BYTES = 46;

/** @param {Uint8Array} bytes @param {number | null} base the offset in the name: the state is valid up to it */
export function readSnapshot(bytes, base) {
  /** @type {Finding[]} */
  const found = [];
  /** @type {ProducerEntry[]} */
  const rows = [];
  if (bytes.length < SNAPSHOT_HEADER_BYTES) {
    found.push({ rule: "snapshot_length", position: 0, values: { n: bytes.length, expected: SNAPSHOT_HEADER_BYTES } });
    return { count: 0, rows, found };
  }
  const reader = new Reader(bytes);
  const version = reader.int16();
  const crc = reader.uint32();
  const count = reader.int32();
  const expected = SNAPSHOT_HEADER_BYTES + count * SNAPSHOT_ENTRY_BYTES;
  const computed = crc32c(bytes, 6);
  if (version !== 1) found.push({ rule: "table_version", position: 0, values: { n: version, known: 1 } });
  if (crc !== computed) found.push({ rule: "crc", position: 2, values: { stored: crc, computed } });
  if (expected !== bytes.length) found.push({ rule: "snapshot_length", position: 6, values: { n: bytes.length, expected } });
  while (rows.length < count && reader.left >= SNAPSHOT_ENTRY_BYTES) {
    const position = reader.at;
    const row = {
      producerId: reader.int64(), producerEpoch: reader.int16(), lastSequence: reader.int32(), lastOffset: reader.int64(),
        offsetDelta: reader.int32(),
      timestamp: reader.int64(), coordinatorEpoch: reader.int32(), currentTxnFirstOffset: reader.int64(),
    };
    rows.push(row);
    if (base !== null && row.lastOffset >= base) found.push({ rule: "snapshot_ahead", position, values: { offset: row.lastOffset, base } });
  }
  return { count: rows.length, rows, found };
}

/** Lines of a text file. A file that is too long is read up to the bound. @param {Uint8Array} bytes @param {Finding[]} found */
function lines(bytes, found) {
  if (bytes.length > MAX_TEXT_BYTES) found.push({ rule: "text_long", position: MAX_TEXT_BYTES,
    values: { n: bytes.length, most: MAX_TEXT_BYTES } });
  try {
    return text(bytes.subarray(0, MAX_TEXT_BYTES)).split("\n");
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    found.push({ rule: "utf8", position: 0, values: {} });
    return [];
  }
}

/** A checkpoint: version, number of entries, entries. @param {Uint8Array} bytes @param {"epochs" | "offsets"} kind */
export function readCheckpoint(bytes, kind) {
  /** @type {Finding[]} */
  const found = [];
  /** @type {(EpochEntry | OffsetEntry)[]} */
  const rows = [];
  /** @type {EpochEntry | null} */
  let before = null;
  if (!bytes.length) return { count: 0, rows, found }; // as the cleaner's is before its first pass
  const all = lines(bytes, found);
  if (all.length && all[all.length - 1] === "") all.pop();
  const positions = [0];
  for (const line of all) positions.push(positions[positions.length - 1] + line.length + 1);
  if (all[0] !== "0") found.push({ rule: "checkpoint_version", position: 0, values: { line: (all[0] ?? "").slice(0, 40) } });
  const count = Number(all[1]);
  if (!/^\d+$/.test(all[1] ?? "") || count !== all.length - 2)
    found.push({ rule: "checkpoint_count", position: positions[1] ?? 0,
      values: { line: (all[1] ?? "").slice(0, 40), n: Math.max(0, all.length - 2) } });
  const form = kind === "epochs" ? /^(\d+)\s+(\d+)$/ : /^(\S+)\s+(\d+)\s+(\d+)$/;
  for (const [place, line] of all.slice(2).entries()) {
    const match = form.exec(line);
    const position = positions[place + 2];
    if (!match) found.push({ rule: "checkpoint_line", position, values: { line: line.slice(0, 60), n: place + 3 } });
    else if (kind === "offsets") rows.push({ topic: match[1], partition: Number(match[2]), offset: Number(match[3]) });
    else {
      const row = { epoch: Number(match[1]), startOffset: Number(match[2]) };
      if (before && (row.epoch <= before.epoch || row.startOffset <= before.startOffset))
        found.push({ rule: "epochs_rise", position, values: { epoch: row.epoch, offset: row.startOffset } });
      rows.push(row);
      before = row;
    }
  }
  return { count: rows.length, rows, found };
}

/** @param {Uint8Array} bytes */
export function readProperties(bytes) {
  /** @type {Finding[]} */
  const found = [];
  const rows = lines(bytes, found).map((line) => ({ line: line.slice(0, 400) }));
  if (rows.length && !rows[rows.length - 1].line) rows.pop();
  return { count: rows.length, rows, found };
}
