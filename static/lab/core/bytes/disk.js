// The disk screen without its page: fields of a page of bytes, names of files, and a lookup as a row of pictures.

/**
 * @typedef {{ name: string, position: number, length: number, value: string, says: string, values?: Record<string, string | number>,
 *   offset?: number, target?: number }} Field
 * @typedef {{ offset: number, position: number, size: number }} Place
 * @typedef {{ kind: string, position: number, size: number, fields: Field[], first_offset?: number, last_offset?: number,
 *   records?: Place[], fault?: string }} Part
 * @typedef {Field & { part: number }} PageField
 * @typedef {{ low: number, high: number, slot: number, key: number, value: number, order: number, next_low: number, next_high:
 *   number }} Probe
 * @typedef {{ file: string, entries: number, warm_from: number, in_warm: boolean, probes: Probe[], slot: number, key: number,
 *   value: number }} Search
 * @typedef {{ position: number, size: number, base_offset: number, last_offset: number, max_timestamp: number, is_it: boolean }} Scanned
 * @typedef {{ offset: number, timestamp: number, segments: number[], floor: number, time_search: Search | null, search: Search | null,
 *   scanned: Scanned[], found: number, found_timestamp: number, skipped: number, cut_short: boolean }} Lookup
 * @typedef {{ step: "segment" | "time" | "index" | "scan" | "found", at: number }} Frame
 */

/** The hue of a field, as the swatches of the hex view have it; one that is not named is plain. @type {Record<string, string>} */
const HUES = {
  baseOffset: "leader", lastOffsetDelta: "leader", offsetDelta: "leader", offset: "leader", relativeOffset: "leader",
  firstOffset: "leader", lastOffset: "leader", startOffset: "leader", currentTxnFirstOffset: "leader", lastStableOffset: "leader",
  partitionLeaderEpoch: "epoch", epoch: "epoch", coordinatorEpoch: "epoch",
  crc: "isr", key: "isr", topic: "isr", name: "isr",
  baseTimestamp: "produce", maxTimestamp: "produce", timestampDelta: "produce", timestamp: "produce", position: "produce",
  producerId: "control", producerEpoch: "outisr", baseSequence: "group", lastSequence: "group",
  value: "select", records: "select", header: "group",
  torn: "danger",
};

/** @param {string} name */
export const hueOf = (name) => HUES[name] ?? "plain";

/** The fields of a page by rising position, each with the place of its part. @param {Part[]} parts @returns {PageField[]} */
export const fieldsOf = (parts) => parts.flatMap(({ fields }, part) => fields.map((field) => ({ ...field, part })));

/** The place of the field that holds a byte, -1 without one. @param {Pick<Field, "position" | "length">[]} fields @param {number} at */
export function fieldAt(fields, at) {
  let low = 0;
  let high = fields.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const { position, length } = fields[middle];
    if (at < position) high = middle - 1;
    else if (at >= position + length) low = middle + 1;
    else return middle;
  }
  return -1;
}

/**
 * A file's name in three pieces: leading zeros, which say little; the digits that count; the rest.
 * @param {string} name
 * @returns {[string, string, string]}
 */
export function namePieces(name) {
  const [, zeros, digits, rest] = /^(0*)(\d*)(.*)$/.exec(name) ?? ["", "", "", name];
  return digits || !zeros ? [zeros, digits, rest] : [zeros.slice(1), "0", rest];
}

/**
 * What a power loss would take, over all folders: bytes, files, and records of each partition.
 * @template {{ bytes: number, flushed: number }} File
 * @param {{ name: string, log_end_offset?: number, safe_offset?: number, files: File[] }[]} folders
 */
export function lossOf(folders) {
  const files = folders.flatMap((folder) => folder.files.filter(({ bytes, flushed }) => flushed < bytes)
    .map((file) => ({ folder: folder.name, ...file })));
  const records = folders
    .filter(({ safe_offset = 0, log_end_offset = 0 }) => safe_offset < log_end_offset)
    .map(({ name, safe_offset = 0, log_end_offset = 0 }) => ({ folder: name, from: safe_offset, to: log_end_offset }));
  return { bytes: files.reduce((sum, { bytes, flushed }) => sum + bytes - flushed, 0), files, records };
}

/** The pictures of a lookup, in order: one for each thing that the broker looks at. @param {Lookup} found @returns {Frame[]} */
export function framesOf(found) {
  /** @type {Frame[]} */
  const frames = [{ step: "segment", at: 0 }];
  const search = (/** @type {"time" | "index"} */ step, /** @type {Search | null} */ one) => {
    // One more than the probes: what they have led to.
    if (one) for (let at = 0; at <= one.probes.length; at++) frames.push({ step, at });
  };
  search("time", found.time_search);
  search("index", found.search);
  for (let at = 0; at < found.scanned.length; at++) frames.push({ step: "scan", at });
  frames.push({ step: "found", at: 0 });
  return frames;
}

/**
 * The slots that are still possible before a probe; after the last one, the slot that is left.
 * @param {Search} search
 * @param {number} at
 * @returns {[number, number]}
 */
export function rangeAt({ probes, slot }, at) {
  const probe = probes[at];
  return probe ? [probe.low, probe.high] : [slot, slot];
}

/**
 * The slots to draw of an index with this number of entries: all, or those around the last probes.
 * @param {Search} search
 * @param {number} most
 * @returns {number[]}
 */
export function slotsShown({ entries, slot, probes }, most) {
  if (entries <= most) return Array.from({ length: entries }, (_, at) => at);
  const looked = new Set([0, entries - 1, Math.max(slot, 0), ...probes.flatMap(({ low, high, slot: middle }) => [low, middle, high])]);
  for (let away = 1; looked.size < most && away < entries; away++)
    for (const near of [slot - away, slot + away]) if (near >= 0 && near < entries && looked.size < most) looked.add(near);
  return [...looked].sort((a, b) => a - b);
}
