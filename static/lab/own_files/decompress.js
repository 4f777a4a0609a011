// The four codecs of Kafka's batches (org.apache.kafka.common.compress), out of bytes that may be anything.
import { Unreadable } from "./bytes.js";
import { lz4 } from "./lz4.js";
import { snappy } from "./snappy.js";
import { zstd } from "./zstd.js";

/** Names by the lowest three bits of a batch's attributes. */
export const CODECS = ["none", "gzip", "snappy", "lz4", "zstd"];

/** Maximum decompressed size of a batch: many times what a broker accepts (message.max.bytes). */
export const MAX_BYTES = 64 * 1024 * 1024;

/** @param {Uint8Array} data @param {number} most */
async function gzip(data, most) {
  const reader = new Blob([/** @type {BlobPart} */ (data)]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Unreadable("compressed", { codec: "gzip" });
    });
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new Unreadable("inflates", { most });
    }
    parts.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/**
 * @param {number} codec @param {Uint8Array} data
 * @returns {Promise<Uint8Array>} Throws Unreadable: "codec", "compressed" or "inflates".
 */
export async function decompress(codec, data, most = MAX_BYTES) {
  if (codec === 0) return data;
  if (codec === 1) return gzip(data, most);
  if (codec === 2) return snappy(data, most);
  if (codec === 3) return lz4(data, most);
  if (codec === 4) return zstd(data, most);
  throw new Unreadable("codec", { codec });
}
