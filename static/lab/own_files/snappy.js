// Snappy (github.com/google/snappy, format_description.txt), raw or in the framing of xerial that the Java client writes.
import { Unreadable, viewOf } from "./bytes.js";
import { Output } from "./output.js";

const XERIAL = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0];
const XERIAL_HEADER_BYTES = 16;
const wrong = () => new Unreadable("compressed", { codec: "snappy" });

/** @param {Uint8Array} data @param {Output} out */
function block(data, out) {
  let at = 0;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    if (at >= data.length || shift > 28) throw wrong();
    length += (data[at] & 127) * 2 ** shift;
    if (data[at++] < 128) break;
  }
  const end = out.length + length;
  while (at < data.length) {
    const tag = data[at++];
    const kind = tag & 3;
    if (kind === 0) {
      let count = tag >> 2;
      if (count >= 60) {
        const more = count - 59;
        if (at + more > data.length) throw wrong();
        count = 0;
        for (let byte = more - 1; byte >= 0; byte--) count = count * 256 + data[at + byte];
        at += more;
      }
      if (at + count + 1 > data.length) throw wrong();
      out.add(data.subarray(at, at + count + 1));
      at += count + 1;
      continue;
    }
    const bytes = kind === 3 ? 4 : kind;
    if (at + bytes > data.length) throw wrong();
    let distance = kind === 1 ? (tag >> 5) * 256 + data[at] : data[at] + data[at + 1] * 256;
    if (kind === 3) distance += data[at + 2] * 65536 + data[at + 3] * 2 ** 24;
    at += bytes;
    out.copy(distance, kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1, wrong);
  }
  if (out.length !== end) throw wrong();
}

/** @param {Uint8Array} data @param {number} most bytes that may come out */
export function snappy(data, most) {
  const out = new Output(most);
  if (!XERIAL.every((byte, place) => data[place] === byte)) {
    block(data, out);
    return out.bytes();
  }
  const view = viewOf(data);
  for (let at = XERIAL_HEADER_BYTES; at < data.length; ) {
    if (at + 4 > data.length) throw wrong();
    const length = view.getInt32(at);
    at += 4;
    if (length < 0 || at + length > data.length) throw wrong();
    block(data.subarray(at, at + length), out);
    at += length;
  }
  return out.bytes();
}
