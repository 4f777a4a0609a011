// Reading numbers of Kafka's formats from bytes: big-endian, never beyond the end.

/** Bytes that break a rule of their format. `rule` names it (`own.rule.*` in the catalogue), `values` fill its sentence. */
export class Unreadable extends Error {
  /** @param {string} rule @param {Record<string, unknown>} [values] */
  constructor(rule, values = {}) {
    super(`${rule} ${JSON.stringify(values, (_, value) => (typeof value === "bigint" ? String(value) : value))}`);
    this.rule = rule;
    this.values = values;
  }
}

/** An int64 as a number: exact below 2^53, which no offset of a real log reaches. @param {DataView} view @param {number} at */
export const int64 = (view, at) => view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);

/** @param {Uint8Array} bytes */
export const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A place in some bytes that moves on as they are read. Throws Unreadable("short") at the end. */
export class Reader {
  /** @param {Uint8Array} bytes @param {number} [at] @param {number} [end] */
  constructor(bytes, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
    this.view = viewOf(bytes);
  }

  get left() {
    return this.end - this.at;
  }

  /** Moves on by a length; the place before. @param {number} length */
  skip(length) {
    if (length < 0 || length > this.left) throw new Unreadable("short", { n: length, left: this.left });
    this.at += length;
    return this.at - length;
  }

  int8 = () => this.view.getInt8(this.skip(1));
  int16 = () => this.view.getInt16(this.skip(2));
  int32 = () => this.view.getInt32(this.skip(4));
  uint32 = () => this.view.getUint32(this.skip(4));
  int64 = () => this.view.getBigInt64(this.skip(8));

  /** @param {number} length */
  take(length) {
    const from = this.skip(length);
    return this.bytes.subarray(from, from + length);
  }

  /** A zigzag varint of at most five bytes. */
  varint() {
    let raw = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.skip(1)];
      raw += (byte & 127) * 2 ** shift;
      if (byte < 128) return raw % 2 ? -(raw + 1) / 2 : raw / 2;
    }
    throw new Unreadable("varint");
  }

  /** A zigzag varint of at most ten bytes. */
  varlong() {
    let raw = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.skip(1)];
      raw += BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n));
    }
    throw new Unreadable("varint");
  }

  /** An unsigned varint, as compact types have it. */
  uvarint() {
    let raw = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.skip(1)];
      raw += (byte & 127) * 2 ** shift;
      if (byte < 128) return raw;
    }
    throw new Unreadable("varint");
  }

  /** Bytes with an int32 length before them; null for a negative one. */
  nullableBytes() {
    const length = this.int32();
    return length < 0 ? null : this.take(length);
  }

  /** A string with an int16 length before it; null for a negative one. */
  string() {
    const length = this.int16();
    return length < 0 ? null : text(this.take(length));
  }
}

/** Bytes as UTF-8. Throws Unreadable("utf8"). @param {Uint8Array} bytes */
export function text(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Unreadable("utf8");
  }
}
