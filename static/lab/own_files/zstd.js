// Zstandard (RFC 8878) without dictionaries. Every step is bounded by what is there to read or by the caller's limit, because
// the bytes may be anything. The frame's checksum is passed over: the batch has one of its own.
import { Unreadable, viewOf } from "./bytes.js";
import { Output } from "./output.js";

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a5;
const MAX_BLOCK_BYTES = 131_072;
const wrong = () => new Unreadable("compressed", { codec: "zstd" });
/** @param {unknown} isFine */
const expect = (isFine) => {
  if (!isFine) throw wrong();
};
/** @param {number} value */
const highBit = (value) => 31 - Math.clz32(value);

// --- bits ----------------------------------------------------------------------------------------------------------------

/** Bits read from the last to the first; below the first there are zeros, and `left` is negative. */
class BackwardBits {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    const last = bytes[bytes.length - 1];
    expect(last);
    this.bytes = bytes;
    this.left = (bytes.length - 1) * 8 + highBit(last);
  }

  /** The next bits without moving on, at most 24. @param {number} count */
  peek(count) {
    const from = this.left - count;
    if (from < 0) return this.left > 0 ? (this.#at(0) & ((1 << this.left) - 1)) << -from & ((1 << count) - 1) : 0;
    return (this.#at(from >> 3) >>> (from & 7)) & ((1 << count) - 1);
  }

  /** @param {number} count at most 32 @returns {number} */
  read(count) {
    if (count > 24) {
      const high = this.read(count - 24);
      return high * 2 ** 24 + this.read(24);
    }
    const value = this.peek(count);
    this.left -= count;
    return value;
  }

  /** @param {number} at */
  #at(at) {
    const { bytes } = this;
    return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
  }
}

// --- finite state entropy --------------------------------------------------------------------------------------------------

/**
 * @typedef {{ log: number, symbols: Uint8Array, bits: Uint8Array }} Huffman
 * @typedef {Huffman & { next: Uint16Array }} Table
 * @typedef {{ from: number, huffman: Huffman | null, tables: (Table | null)[], recent: number[] }} Frame `recent`: the last three distances
 */

/** Probabilities to a table of states. @param {number} log @param {number[]} probabilities @returns {Table} */
function fseTable(log, probabilities) {
  const size = 1 << log;
  const table = { log, symbols: new Uint8Array(size), bits: new Uint8Array(size), next: new Uint16Array(size) };
  const counts = probabilities.map(Math.abs);
  let high = size;
  probabilities.forEach((probability, symbol) => {
    if (probability < 0) table.symbols[--high] = symbol;
  });
  let at = 0;
  const step = (size >> 1) + (size >> 3) + 3;
  probabilities.forEach((probability, symbol) => {
    for (let times = 0; times < probability; times++) {
      table.symbols[at] = symbol;
      do at = (at + step) & (size - 1);
      while (at >= high);
    }
  });
  expect(at === 0);
  for (let state = 0; state < size; state++) {
    const count = counts[table.symbols[state]]++;
    table.bits[state] = log - highBit(count);
    table.next[state] = (count << table.bits[state]) - size;
  }
  return table;
}

/**
 * Reads probabilities: the table, and the place after them.
 * @param {Uint8Array} data
 * @param {number} from
 * @param {number} mostLog
 * @param {number} mostSymbols
 * @returns {[Table, number]}
 */
function readFse(data, from, mostLog, mostSymbols) {
  let at = from * 8;
  const end = data.length * 8;
  /** @param {number} count */
  const read = (count) => {
    expect(at < end);
    const byte = at >> 3;
    const value = ((data[byte] | (data[byte + 1] << 8) | (data[byte + 2] << 16)) >>> (at & 7)) & ((1 << count) - 1);
    at += count;
    return value;
  };
  const log = read(4) + 5;
  expect(log <= mostLog);
  const probabilities = [];
  let left = 1 << log;
  while (left > 0) {
    expect(probabilities.length < mostSymbols);
    const bits = highBit(left + 1) + 1;
    const low = (1 << (bits - 1)) - 1;
    const threshold = (1 << bits) - 2 - left;
    let value = read(bits);
    if ((value & low) < threshold) {
      at -= 1; // a small value takes a bit less
      value &= low;
    } else if (value > low) value -= threshold;
    const probability = value - 1;
    left -= Math.abs(probability);
    probabilities.push(probability);
    if (probability) continue;
    for (let repeat = 3; repeat === 3; ) {
      repeat = read(2);
      for (let times = 0; times < repeat; times++) probabilities.push(0);
      expect(probabilities.length <= mostSymbols);
    }
  }
  expect(left === 0);
  expect(at <= end);
  return [fseTable(log, probabilities), (at + 7) >> 3];
}

// --- literals ---------------------------------------------------------------------------------------------------------------

/** Weights of the symbols of a Huffman tree, and the place after them. @param {Uint8Array} data @param {number} at */
function readWeights(data, at) {
  expect(at < data.length);
  const header = data[at++];
  const weights = [];
  if (header >= 128) {
    const count = header - 127;
    expect(at + ((count + 1) >> 1) <= data.length);
    for (let place = 0; place < count; place++) weights.push(place & 1 ? data[at + (place >> 1)] & 15 : data[at + (place >> 1)] >> 4);
    return { weights, at: at + ((count + 1) >> 1) };
  }
  const end = at + header;
  expect(end <= data.length);
  const [table, from] = readFse(data.subarray(0, end), at, 6, 256);
  expect(from < end);
  const bits = new BackwardBits(data.subarray(from, end));
  const states = [bits.read(table.log), bits.read(table.log)];
  for (let turn = 0; ; turn ^= 1) {
    expect(weights.length < 255);
    weights.push(table.symbols[states[turn]]);
    states[turn] = table.next[states[turn]] + bits.read(table.bits[states[turn]]);
    if (bits.left >= 0) continue;
    weights.push(table.symbols[states[turn ^ 1]]);
    return { weights, at: end };
  }
}

/** @param {Uint8Array} data @param {number} from @returns {[Huffman, number]} */
function readHuffman(data, from) {
  const { weights, at } = readWeights(data, from);
  const sum = weights.reduce((before, weight) => before + (weight ? 2 ** (weight - 1) : 0), 0);
  expect(sum > 0 && sum < 2048);
  const log = highBit(sum) + 1;
  const left = (1 << log) - sum;
  expect((left & (left - 1)) === 0 && log <= 11);
  weights.push(highBit(left) + 1);
  const table = { log, symbols: new Uint8Array(1 << log), bits: new Uint8Array(1 << log) };
  let place = 0;
  for (let weight = 1; weight <= log; weight++)
    weights.forEach((own, symbol) => {
      if (own !== weight) return;
      const to = place + (1 << (weight - 1));
      table.symbols.fill(symbol, place, to);
      table.bits.fill(log + 1 - weight, place, to);
      place = to;
    });
  return [table, at];
}

/** One Huffman stream to exactly as many bytes as `out` has. @param {Uint8Array} data @param {Huffman} table @param {Uint8Array} out */
function huffmanStream(data, table, out) {
  const bits = new BackwardBits(data);
  for (let at = 0; at < out.length; at++) {
    const code = bits.peek(table.log);
    out[at] = table.symbols[code];
    bits.left -= table.bits[code];
    expect(bits.left >= 0);
  }
  expect(bits.left === 0);
}

/** @param {Uint8Array} data @param {Huffman} table @param {number} size @param {boolean} hasFour streams */
function huffmanLiterals(data, table, size, hasFour) {
  const out = new Uint8Array(size);
  if (!hasFour) {
    huffmanStream(data, table, out);
    return out;
  }
  expect(data.length > 6);
  const view = viewOf(data);
  const quarter = (size + 3) >> 2;
  let at = 6;
  for (let stream = 0; stream < 4; stream++) {
    const end = stream < 3 ? at + view.getUint16(stream * 2, true) : data.length;
    expect(end > at && end <= data.length && quarter * 3 <= size);
    huffmanStream(data.subarray(at, end), table, out.subarray(stream * quarter, stream < 3 ? (stream + 1) * quarter : size));
    at = end;
  }
  return out;
}

/**
 * The literals of a block, and the place after them. `frame` keeps the tree for blocks that reuse it.
 * @param {Uint8Array} data
 * @param {Frame} frame
 * @returns {[Uint8Array, number]}
 */
function readLiterals(data, frame) {
  expect(data.length);
  const kind = data[0] & 3;
  const format = (data[0] >> 2) & 3;
  /** @param {number} bytes */
  const header = (bytes) => {
    expect(bytes <= data.length);
    return data.subarray(0, bytes).reduceRight((value, byte) => value * 256 + byte, 0);
  };
  if (kind < 2) {
    const bytes = [1, 2, 1, 3][format];
    const size = Math.floor(header(bytes) / (format & 1 ? 16 : 8));
    expect(size <= MAX_BLOCK_BYTES && bytes + (kind ? 1 : size) <= data.length);
    return kind ? [new Uint8Array(size).fill(data[bytes]), bytes + 1] : [data.subarray(bytes, bytes + size), bytes + size];
  }
  const bytes = [3, 3, 4, 5][format];
  const width = 2 ** [10, 10, 14, 18][format];
  const sizes = Math.floor(header(bytes) / 16);
  const size = sizes % width;
  const end = bytes + Math.floor(sizes / width);
  expect(size <= MAX_BLOCK_BYTES && end <= data.length);
  let at = bytes;
  if (kind === 2) [frame.huffman, at] = readHuffman(data.subarray(0, end), at);
  expect(at <= end);
  if (!frame.huffman) throw wrong();
  return [huffmanLiterals(data.subarray(at, end), frame.huffman, size, format > 0), end];
}

// --- sequences ----------------------------------------------------------------------------------------------------------------

/** @param {number} count @param {number} value */
const run = (count, value) => Array.from({ length: count }, () => value);
/** @param {number} first @param {number[]} bits */
const bases = (first, bits) => bits.reduce((made, count) => [...made, made[made.length - 1] + 2 ** count], [first]);

const LITERAL_BITS = [...run(16, 0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const MATCH_BITS = [...run(32, 0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const LITERAL_BASES = bases(0, LITERAL_BITS);
const MATCH_BASES = bases(3, MATCH_BITS);
const OFFSET_CODES = 32;

/** Kinds of a sequence's three numbers, in the order in which their tables come. */
const KINDS = [
  { symbols: LITERAL_BITS.length, log: 9, usual: fseTable(6,
    [4, 3, ...run(11, 2), 1, 1, 1, ...run(9, 2), 3, 2, ...run(5, 1), ...run(4, -1)]) },
  { symbols: OFFSET_CODES, log: 8, usual: fseTable(5, [...run(6, 1), 2, 2, 2, ...run(15, 1), ...run(5, -1)]) },
  { symbols: MATCH_BITS.length, log: 9, usual: fseTable(6, [1, 4, 3, ...run(6, 2), ...run(37, 1), ...run(7, -1)]) },
];

/**
 * The three tables of a block, and the place after them.
 * @param {Uint8Array} data
 * @param {number} at
 * @param {number} modes
 * @param {Frame} frame
 * @returns {{ tables: [Table, Table, Table], at: number }}
 */
function readTables(data, at, modes, frame) {
  KINDS.forEach(({ symbols, log, usual }, place) => {
    const mode = (modes >> (6 - place * 2)) & 3;
    if (mode === 0) frame.tables[place] = usual;
    if (mode === 1) {
      expect(at < data.length && data[at] < symbols);
      frame.tables[place] = { log: 0, symbols: data.subarray(at, at + 1), bits: new Uint8Array(1), next: new Uint16Array(1) };
      at += 1;
    }
    if (mode === 2) [frame.tables[place], at] = readFse(data, at, log, symbols);
  });
  const [literals, offsets, matches] = frame.tables;
  if (!literals || !offsets || !matches) throw wrong();
  return { tables: [literals, offsets, matches], at };
}

/**
 * How far back a sequence copies from; the last three distances have short names.
 * @param {number} value
 * @param {number} literals
 * @param {number[]} recent
 */
function distanceOf(value, literals, recent) {
  if (value > 3) {
    recent.unshift(value - 3);
    recent.length = 3;
    return recent[0];
  }
  const place = value - (literals ? 1 : 0);
  const distance = place === 3 ? recent[0] - 1 : recent[place];
  if (place) {
    recent.splice(Math.min(place, 2), 1);
    recent.unshift(distance);
  }
  return distance;
}

/** A block of literals and sequences. @param {Uint8Array} data @param {Frame} frame @param {Output} out */
function compressedBlock(data, frame, out) {
  const [literals, from] = readLiterals(data, frame);
  let at = from;
  expect(at < data.length);
  let count = data[at++];
  if (count > 127) {
    expect(at + (count === 255 ? 2 : 1) <= data.length);
    count = count === 255 ? data[at++] + data[at++] * 256 + 0x7f00 : (count - 128) * 256 + data[at++];
  }
  if (!count) {
    out.add(literals);
    return;
  }
  expect(at < data.length && (data[at] & 3) === 0);
  const modes = data[at++];
  const { tables, at: after } = readTables(data, at, modes, frame);
  expect(after < data.length);
  copySequences(count, { tables, bits: new BackwardBits(data.subarray(after)), literals, frame }, out);
}

/**
 * Decodes the sequences of a block: literals, then a copy of earlier output.
 * @param {number} count
 * @param {{ tables: [Table, Table, Table], bits: BackwardBits, literals: Uint8Array, frame: Frame }} block
 * @param {Output} out
 */
function copySequences(count, { tables, bits, literals, frame }, out) {
  const [literalTable, offsetTable, matchTable] = tables;
  let [literalState, offsetState, matchState] = tables.map(({ log }) => bits.read(log));
  const end = out.length + MAX_BLOCK_BYTES;
  let used = 0;
  for (let left = count; left > 0; left--) {
    const offsetCode = offsetTable.symbols[offsetState];
    const matchCode = matchTable.symbols[matchState];
    const literalCode = literalTable.symbols[literalState];
    const value = 2 ** offsetCode + bits.read(offsetCode);
    const match = MATCH_BASES[matchCode] + bits.read(MATCH_BITS[matchCode]);
    const length = LITERAL_BASES[literalCode] + bits.read(LITERAL_BITS[literalCode]);
    if (left > 1) {
      literalState = literalTable.next[literalState] + bits.read(literalTable.bits[literalState]);
      matchState = matchTable.next[matchState] + bits.read(matchTable.bits[matchState]);
      offsetState = offsetTable.next[offsetState] + bits.read(offsetTable.bits[offsetState]);
    }
    expect(bits.left >= 0 && used + length <= literals.length && out.length + length + match <= end);
    out.add(literals.subarray(used, used + length));
    used += length;
    const distance = distanceOf(value, length, frame.recent);
    expect(distance <= out.length - frame.from);
    out.copy(distance, match, wrong);
  }
  out.add(literals.subarray(used));
}

// --- frames -------------------------------------------------------------------------------------------------------------------

/** The place of a frame's first block, and whether a checksum follows the last one. @param {Uint8Array} data @param {number} at */
function readFrameHeader(data, at) {
  expect(at + 6 <= data.length);
  const flags = data[at + 4];
  expect((flags & 8) === 0 && (flags & 3) === 0);
  const isSingle = flags & 32;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6];
  return { first: at + 5 + (isSingle ? 0 : 1) + sizeBytes, hasChecksum: (flags & 4) !== 0 };
}

/** @param {Uint8Array} data @param {number} from @param {Output} out */
function readFrame(data, from, out) {
  const { first, hasChecksum } = readFrameHeader(data, from);
  /** @type {Frame} */
  const frame = { from: out.length, huffman: null, tables: [null, null, null], recent: [1, 4, 8] };
  let at = first;
  for (let isLast = false; !isLast; ) {
    expect(at + 3 <= data.length);
    const header = data[at] | (data[at + 1] << 8) | (data[at + 2] << 16);
    const kind = (header >> 1) & 3;
    const size = header >> 3;
    isLast = (header & 1) === 1;
    at += 3;
    const stored = kind === 1 ? 1 : size;
    expect(kind < 3 && size <= MAX_BLOCK_BYTES && at + stored <= data.length);
    if (kind === 0) out.add(data.subarray(at, at + size));
    else if (kind === 1) out.fill(data[at], size);
    else compressedBlock(data.subarray(at, at + size), frame, out);
    at += stored;
  }
  return at + (hasChecksum ? 4 : 0);
}

/** @param {Uint8Array} data @param {number} most bytes that may come out */
export function zstd(data, most) {
  const view = viewOf(data);
  const out = new Output(most);
  for (let at = 0; at < data.length; ) {
    expect(at + 8 <= data.length);
    const magic = view.getUint32(at, true);
    if (magic >>> 4 === SKIPPABLE) at += 8 + view.getUint32(at + 4, true);
    else {
      expect(magic === MAGIC);
      at = readFrame(data, at, out);
    }
  }
  return out.bytes();
}
