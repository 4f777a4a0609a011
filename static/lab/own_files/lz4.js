// LZ4 in its frame format (github.com/lz4/lz4, doc/lz4_Frame_format.md and lz4_Block_format.md).
// Checksums of the frame are passed over: the batch has one of its own.
import { Unreadable, viewOf } from "./bytes.js";
import { Output } from "./output.js";

const MAGIC = 0x184d2204;
const STORED = 0x80000000;
const wrong = () => new Unreadable("compressed", { codec: "lz4" });

/** @param {Uint8Array} data @param {Output} out */
function block(data, out) {
  let at = 0;
  /** @param {number} count */
  const long = (count) => {
    if (count < 15) return count;
    for (;;) {
      if (at >= data.length) throw wrong();
      const byte = data[at++];
      count += byte;
      if (byte < 255) return count;
    }
  };
  while (at < data.length) {
    const token = data[at++];
    const literals = long(token >> 4);
    if (at + literals > data.length) throw wrong();
    out.add(data.subarray(at, at + literals));
    at += literals;
    if (at === data.length) return; // the last sequence is literals alone
    if (at + 2 > data.length) throw wrong();
    const distance = data[at] | (data[at + 1] << 8);
    at += 2;
    out.copy(distance, long(token & 15) + 4, wrong);
  }
}

/** @param {Uint8Array} data @param {number} most bytes that may come out */
export function lz4(data, most) {
  const view = viewOf(data);
  const out = new Output(most);
  if (data.length < 7 || view.getUint32(0, true) !== MAGIC) throw wrong();
  const flags = data[4];
  const hasBlockChecksum = flags & 16;
  let at = 7 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0);
  for (;;) {
    if (at + 4 > data.length) throw wrong();
    const field = view.getUint32(at, true);
    at += 4;
    if (!field) return out.bytes();
    const length = field & ~STORED;
    if (at + length > data.length) throw wrong();
    const content = data.subarray(at, at + length);
    if (field & STORED) out.add(content);
    else block(content, out);
    at += length + (hasBlockChecksum ? 4 : 0);
  }
}
