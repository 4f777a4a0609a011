// One batch of a log: its header, its records, and the meaning of each of its bytes (Kafka's documentation, "Message Format";
// org.apache.kafka.common.record: DefaultRecordBatch, DefaultRecord, LegacyRecord). Magic 0 and 1 are read, too: there a message is a
// record, or wraps a compressed set of messages.
import { Reader, Unreadable, text, viewOf } from "./bytes.js";
import { crc32, crc32c } from "./checksums.js";
import { decompress } from "./decompress.js";

/** Bytes up to the magic, which defines the rest. */
export const PREFIX_BYTES = 17;
export const HEADER_BYTES = 61;
/** baseOffset and batchLength: what the length does not count. */
export const LENGTH_END = 12;
/** The minimum of a length field (LegacyRecord.RECORD_OVERHEAD_V0). */
export const MIN_LENGTH = 14;
const CRC_FROM = 21;
const LEGACY_CRC_FROM = 16;

/** Header fields: name (Kafka's), length in bytes, hue of the hex view. */
/** @type {[string, number, string][]} */
const V2_FIELDS = [
  ["baseOffset", 8, "leader"], ["batchLength", 4, "plain"], ["partitionLeaderEpoch", 4, "epoch"], ["magic", 1, "plain"], ["crc", 4, "isr"],
  ["attributes", 2, "plain"], ["lastOffsetDelta", 4, "leader"], ["baseTimestamp", 8, "produce"], ["maxTimestamp", 8, "produce"],
  ["producerId", 8, "control"], ["producerEpoch", 2, "outisr"], ["baseSequence", 4, "group"], ["recordsCount", 4, "plain"],
];
/** @type {[string, number, string][]} */
const LEGACY_FIELDS = [["offset", 8, "leader"], ["messageSize", 4, "plain"], ["crc", 4, "isr"], ["magic", 1, "plain"],
  ["attributes", 1, "plain"]];

/** The fields of the header.
 * @typedef {{
 *   position: number, size: number, magic: number, base: bigint, last: bigint, count: number, epoch: number, crc: number,
 *   attributes: number, codec: number, isLogAppendTime: boolean, isTransactional: boolean, isControl: boolean, hasHorizon: boolean,
 *   baseTimestamp: bigint, maxTimestamp: bigint, producerId: bigint, producerEpoch: number, baseSequence: number,
 * }} Header
 */

/**
 * @param {Uint8Array} bytes from the batch's first byte on, at least its header
 * @param {number} position of the batch in its file
 * @returns {Header}
 */
export function readHeader(bytes, position) {
  const reader = new Reader(bytes);
  const base = reader.int64();
  const size = reader.int32() + LENGTH_END;
  const magic = bytes[LEGACY_CRC_FROM];
  const plain = {
    position, size, magic, base, last: base, count: 1, epoch: -1, isTransactional: false, isControl: false, hasHorizon: false,
    producerId: -1n, producerEpoch: -1, baseSequence: -1,
  };
  if (magic < 2) {
    const crc = reader.uint32();
    reader.skip(1);
    const attributes = reader.int8() & 255;
    const timestamp = magic ? reader.int64() : -1n;
    const codec = attributes & 7;
    return {
      ...plain, crc, attributes, codec, count: codec ? -1 : 1, isLogAppendTime: magic === 1 && (attributes & 8) > 0,
      baseTimestamp: timestamp, maxTimestamp: timestamp,
    };
  }
  const epoch = reader.int32();
  reader.skip(1);
  const crc = reader.uint32();
  const attributes = reader.int16();
  const last = base + BigInt(reader.int32());
  return {
    ...plain, epoch, crc, attributes, last, codec: attributes & 7, isLogAppendTime: (attributes & 8) > 0,
      isTransactional: (attributes & 16) > 0,
    isControl: (attributes & 32) > 0, hasHorizon: (attributes & 64) > 0, baseTimestamp: reader.int64(), maxTimestamp: reader.int64(),
    producerId: reader.int64(), producerEpoch: reader.int16(), baseSequence: reader.int32(), count: reader.int32(),
  };
}

/** The checksum that a batch should carry. @param {Uint8Array} bytes the whole batch @param {number} magic */
export const checksum = (bytes, magic) => (magic < 2 ? crc32(bytes, LEGACY_CRC_FROM) : crc32c(bytes, CRC_FROM));

/**
 * `at` and `size` are the record's place in the batch's records as they are without compression.
 * @typedef {{
 *   offset: bigint, timestamp: bigint, sequence: number, key: Uint8Array | null, value: Uint8Array | null,
 *   headers: [string, Uint8Array | null][], at: number, size: number,
 * }} Record
 */

/** @typedef {(name: string, hue: string, length: number) => void} Mark notes a field of a record */

/** Reads one record of a batch of magic 2; `mark` is called for each of its fields. @param {Reader} reader @param {Mark} mark */
function readRecord(reader, mark = () => {}) {
  let from = reader.at;
  /** @template T @param {string} name @param {string} hue @param {T} value */
  const marked = (name, hue, value) => {
    mark(name, hue, reader.at - from);
    from = reader.at;
    return value;
  };
  /** @param {string} name @param {string} hue */
  const bytes = (name, hue) => {
    const length = marked(`${name}Length`, "plain", reader.varint());
    return length < 0 ? null : marked(name, hue, reader.take(length));
  };
  const length = marked("length", "plain", reader.varint());
  const end = reader.at + length;
  if (length < 0 || end > reader.end) throw new Unreadable("record_length", { n: length, left: reader.left });
  marked("attributes", "plain", reader.skip(1));
  const timestampDelta = marked("timestampDelta", "produce", reader.varlong());
  const offsetDelta = marked("offsetDelta", "leader", reader.varint());
  const key = bytes("key", "isr");
  const value = bytes("value", "select");
  const count = marked("headersCount", "plain", reader.varint());
  if (count < 0 || count > end - reader.at) throw new Unreadable("headers_count", { n: count });
  const headers = [];
  for (let place = 0; place < count; place++) {
    const name = bytes("headerKey", "group");
    if (name === null) throw new Unreadable("header_key");
    headers.push(/** @type {[string, Uint8Array | null]} */ ([text(name), bytes("headerValue", "control")]));
  }
  if (reader.at !== end) throw new Unreadable("record_end", { n: length, read: reader.at - end + length });
  return { timestampDelta, offsetDelta, key, value, headers };
}

const MAX_INT32 = 2 ** 31 - 1;
/** DefaultRecordBatch.incrementSequence: after the largest int32 comes 0. @param {number} base @param {number} delta */
const sequenceAt = (base, delta) => (base < 0 ? -1 : base > MAX_INT32 - delta ? delta - (MAX_INT32 - base) - 1 : base + delta);

/** @param {Header} header @param {Uint8Array} body @returns {{records: Record[], error: Unreadable | null}} */
function readRecords(header, body) {
  const reader = new Reader(body);
  /** @type {Record[]} */
  const records = [];
  let before = -1;
  /** @type {Unreadable | null} */
  let error = null;
  try {
    for (let place = 0; place < header.count; place++) {
      const at = reader.at;
      const { timestampDelta, offsetDelta, key, value, headers } = readRecord(reader);
      if (offsetDelta <= before) error ??= new Unreadable("delta_order", { n: offsetDelta, before });
      before = offsetDelta;
      records.push({
        offset: header.base + BigInt(offsetDelta), sequence: sequenceAt(header.baseSequence, offsetDelta), key, value, headers, at,
          size: reader.at - at,
        timestamp: header.isLogAppendTime ? header.maxTimestamp : header.baseTimestamp + timestampDelta,
      });
    }
    if (reader.left) error ??= new Unreadable("records_left", { n: reader.left });
    if (header.base + BigInt(before) > header.last) error ??= new Unreadable("delta_beyond",
      { n: before, last: header.last - header.base });
  } catch (wrong) {
    error = known(wrong);
  }
  return { records, error };
}

/** @param {unknown} wrong @returns {Unreadable} */
function known(wrong) {
  if (wrong instanceof Unreadable) return wrong;
  throw wrong;
}

/**
 * Key and value of a message of magic 0 or 1 from behind its attributes.
 * @param {Reader} reader
 * @param {number} magic
 * @param {Mark} mark
 */
function readMessage(reader, magic, mark = () => {}) {
  const timestamp = magic ? reader.int64() : -1n;
  if (magic) mark("timestamp", "produce", 8);
  /** @param {string} name @param {string} hue */
  const bytes = (name, hue) => {
    const found = reader.nullableBytes();
    mark(`${name}Length`, "plain", 4);
    mark(name, hue, found?.length ?? 0);
    return found;
  };
  return { timestamp, key: bytes("key", "isr"), value: bytes("value", "select") };
}

/**
 * The messages that a wrapper holds. Offsets of magic 1 count from the first; the wrapper's offset is that of the last.
 * @param {Header} header
 * @param {Uint8Array} body
 */
function readMessageSet(header, body) {
  const reader = new Reader(body);
  /** @type {Record[]} */
  const records = [];
  let error = null;
  try {
    while (reader.left) {
      const at = reader.at;
      const offset = reader.int64();
      const size = reader.int32();
      if (size < MIN_LENGTH) throw new Unreadable("length_small", { n: size, least: MIN_LENGTH });
      const message = new Reader(reader.take(size));
      const crc = message.uint32();
      const magic = message.int8();
      message.skip(1);
      const { timestamp, key, value } = readMessage(message, magic > 0 ? 1 : 0);
      const computed = crc32(message.bytes, 4);
      if (crc !== computed) error ??= new Unreadable("inner_crc", { stored: crc, computed });
      records.push({ offset, timestamp: header.isLogAppendTime ? header.maxTimestamp : timestamp, sequence: -1, key, value, headers: [],
        at, size: size + LENGTH_END });
    }
  } catch (wrong) {
    error = known(wrong);
  }
  if (header.magic === 1 && records.length) {
    const base = header.last - records[records.length - 1].offset;
    for (const record of records) record.offset += base;
  }
  return { records, error };
}

/**
 * Everything in a batch. What cannot be read is reported in `error`; the records before it are included.
 * @param {Uint8Array} bytes the whole batch
 * @param {number} position
 * @returns {Promise<{ header: Header, computed: number | null, body: Uint8Array, records: Record[], error: Unreadable | null }>}
 */
export async function openBatch(bytes, position) {
  const header = readHeader(bytes, position);
  const computed = checksum(bytes, header.magic);
  try {
    if (header.magic > 1) {
      const body = await decompress(header.codec, bytes.subarray(HEADER_BYTES));
      return { header, computed, body, ...readRecords(header, body) };
    }
    const reader = new Reader(bytes, LEGACY_CRC_FROM + 2);
    const { timestamp, key, value } = readMessage(reader, header.magic);
    if (!header.codec) {
      const records = [{ offset: header.base, timestamp, sequence: -1, key, value, headers: [], at: 0, size: bytes.length }];
      return { header, computed, body: bytes, records, error: reader.left ? new Unreadable("records_left", { n: reader.left }) : null };
    }
    const body = await decompress(header.codec, value ?? new Uint8Array());
    return { header, computed, body, ...readMessageSet(header, body) };
  } catch (wrong) {
    return { header, computed, body: new Uint8Array(), records: /** @type {Record[]} */ ([]), error: known(wrong) };
  }
}

/** @typedef {{from: number, to: number, name: string, hue: string, record: bigint | null}} Field places are those in the file */

/**
 * What each byte of a batch means, for the part of the file from `from` to `to`.
 * @param {Uint8Array} bytes the whole batch @param {Header} header @param {Record[]} records @param {number} from @param {number} to
 * @returns {Field[]} ascending
 */
export function fieldsOf(bytes, header, records, from, to) {
  /** @type {Field[]} */
  const fields = [];
  let at = header.position;
  /** @param {bigint | null} record @returns {Mark} */
  const mark = (record) => (name, hue, length) => {
    if (length > 0 && at < to && at + length > from) fields.push({ from: at, to: at + length, name, hue, record });
    at += length;
  };
  for (const [name, length, hue] of header.magic > 1 ? V2_FIELDS : LEGACY_FIELDS) mark(null)(name, hue, length);
  try {
    if (header.magic < 2) {
      readMessage(new Reader(bytes, LEGACY_CRC_FROM + 2), header.magic, mark(header.codec ? null : header.base));
    } else if (header.codec) {
      mark(null)("records", "select", header.size - HEADER_BYTES);
    } else {
      for (const record of records) {
        at = header.position + HEADER_BYTES + record.at;
        if (at >= to) break;
        if (at + record.size > from) readRecord(new Reader(bytes, HEADER_BYTES + record.at), mark(record.offset));
      }
    }
  } catch (wrong) {
    known(wrong); // the fields before it are marked
  }
  return fields;
}

/** A control record's meaning: kind and, for the end of a transaction, the coordinator's epoch. @param {Record} record */
export function controlOf({ key, value }) {
  const kinds = ["ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"];
  if (!key || key.length < 4) return null;
  const type = viewOf(key).getInt16(2);
  const kind = kinds[type] ?? `UNKNOWN(${type})`;
  return type < 2 && value && value.length >= 6 ? { kind, coordinatorEpoch: viewOf(value).getInt32(2) } : { kind };
}
