// The kinds of files: how each is recognised, ordered in the list, and decoded.
import { HEADER_BYTES, PREFIX_BYTES, checksum, readHeader } from "./batch.js";
import { readCheckpoint, readIndex, readProperties, readSnapshot, readTimeIndex, readTransactionIndex } from "./tables.js";
import { readBytes } from "./window.js";

/** @import { Findings } from "./findings.js" */
/** @import { Finding } from "./tables.js" */
/** @import { Source } from "./window.js" */
/** @typedef {{ folder: string, name: string, kind: string, base: number | null }} Listed */
/**
 * @typedef {{ count: number, found: Finding[], entries?: { offsets: Float64Array, positions?: Float64Array, timestamps?: Float64Array },
 *             rows?: object[] }} Table
 */

/** The files of a segment, in the order of the list. */
export const SEGMENT_KINDS = ["log", "index", "timeindex", "txnindex", "snapshot"];
const SNIFFED_BYTES = 1024 * 1024;

/** A file's place in its folder: segments by base, what belongs to the whole last. @param {Listed} file */
const orderOf = ({ kind, base }) => (SEGMENT_KINDS.includes(kind) ? base ?? Number.MAX_SAFE_INTEGER : Infinity);
/** @template {string | number} T @param {T} a @param {T} b */
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
/** @param {Listed} a @param {Listed} b */
export const inListOrder = (a, b) => compare(a.folder, b.folder) || compare(orderOf(a), orderOf(b))
  || compare(SEGMENT_KINDS.indexOf(a.kind), SEGMENT_KINDS.indexOf(b.kind)) || compare(a.name, b.name);

/** Whether entries of a file lead to batches. @param {{ kind: string, findings: Findings }} file */
export const isLinked = ({ kind, findings }) => ["index", "timeindex", "txnindex"].includes(kind) && !("table_nonsense" in findings.byRule);

/** Whether a file begins with a batch, by its checksum. @param {Source} source */
export async function holdsBatch(source) {
  const bytes = await readBytes(source, 0, SNIFFED_BYTES);
  if (bytes.length < PREFIX_BYTES + 9 || bytes[16] > 2 || (bytes[16] === 2 && bytes.length < HEADER_BYTES)) return false;
  const { size, magic, crc } = readHeader(bytes, 0);
  if (size < (magic > 1 ? HEADER_BYTES : 26) || size > bytes.length) return false;
  return checksum(bytes.subarray(0, size), magic) === crc;
}

/** The offset at the start of a log. @param {Source} source */
export async function firstOffset(source) {
  const bytes = await readBytes(source, 0, 8);
  return bytes.length < 8 ? 0 : Number(new DataView(bytes.buffer).getBigInt64(0));
}

/**
 * Decodes a table by the kind of its file.
 * @param {{ kind: string, base: number | null }} file @param {Uint8Array} bytes @returns {Table}
 */
export function readKind({ kind, base }, bytes) {
  if (kind === "index") return readIndex(bytes);
  if (kind === "timeindex") return readTimeIndex(bytes);
  if (kind === "txnindex") return readTransactionIndex(bytes);
  if (kind === "snapshot") return readSnapshot(bytes, base);
  if (kind === "epochs" || kind === "offsets") return readCheckpoint(bytes, kind);
  if (kind === "properties") return readProperties(bytes);
  return { count: 0, rows: [], found: [] };
}

/** An entry of an index or a line of a table. @param {string} kind @param {number} base @param {Table} table @param {number} n */
export function entryAt(kind, base, { entries, rows }, n) {
  if (!entries) return rows?.[n];
  const relative = entries.offsets[n];
  const entry = { offset: base + relative, relative };
  return kind === "index" ? { ...entry, position: entries.positions?.[n] } : { ...entry, timestamp: entries.timestamps?.[n] };
}
