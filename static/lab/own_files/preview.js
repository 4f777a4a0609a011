// The beginning of a key, value or header, as the page shows it.

const PREVIEW_BYTES = 4096;
const PREVIEW_DIGITS = 256;

/** As text if it is text, else as hexadecimal digits. @param {Uint8Array | null} bytes */
export function preview(bytes) {
  if (!bytes) return null;
  const text = asText(bytes.subarray(0, PREVIEW_BYTES), bytes.length > PREVIEW_BYTES);
  const digits = text === null ? [...bytes.subarray(0, PREVIEW_DIGITS)].map((byte) => byte.toString(16).padStart(2, "0")).join("") : null;
  return { size: bytes.length, text, hex: digits };
}

/**
 * Text without control characters, or null. `isCut`: its last character may be cut in two.
 * @param {Uint8Array} bytes
 * @param {boolean} isCut
 */
function asText(bytes, isCut) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
    return /[^\P{Cc}\t\n\r]/u.test(text) ? null : text;
  } catch {
    return null;
  }
}
