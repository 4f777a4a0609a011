// CRC-32C (Castagnoli), which batches since magic 2 and snapshots carry, and the plain CRC-32 of older messages.

const CASTAGNOLI = 0x82f63b78;
const PLAIN = 0xedb88320;

/** Eight tables, so that eight bytes are taken at once. @param {number} polynomial */
function tables(polynomial) {
  const made = new Uint32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    made[byte] = crc;
  }
  for (let at = 256; at < made.length; at++) made[at] = (made[at - 256] >>> 8) ^ made[made[at - 256] & 255];
  return made;
}

const CRC32C = tables(CASTAGNOLI);
const CRC32 = tables(PLAIN);

/**
 * Continues a checksum of the bytes before.
 * @param {Uint32Array} table
 * @param {number} crc
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 */
function update(table, crc, bytes, from, to) {
  crc = ~crc;
  let at = from;
  for (const last = to - 8; at <= last; at += 8) {
    const low = crc ^ (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24));
    crc = table[1792 + (low & 255)] ^ table[1536 + ((low >>> 8) & 255)] ^ table[1280 + ((low >>> 16) & 255)] ^ table[1024 + (low >>> 24)]
      ^ table[768 + bytes[at + 4]] ^ table[512 + bytes[at + 5]] ^ table[256 + bytes[at + 6]] ^ table[bytes[at + 7]];
  }
  for (; at < to; at++) crc = (crc >>> 8) ^ table[(crc ^ bytes[at]) & 255];
  return ~crc >>> 0;
}

/** @param {Uint8Array} bytes @param {number} [from] @param {number} [to] @param {number} [before] the checksum of what comes before */
export const crc32c = (bytes, from = 0, to = bytes.length, before = 0) => update(CRC32C, before, bytes, from, to);

/** @param {Uint8Array} bytes @param {number} [from] @param {number} [to] @param {number} [before] */
export const crc32 = (bytes, from = 0, to = bytes.length, before = 0) => update(CRC32, before, bytes, from, to);
