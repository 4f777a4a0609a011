// The embedded data of a standalone page: bytes, compressed with zlib and encoded in base64.

/** The text of an element with embedded data. @param {string} base64 @returns {Promise<string>} */
export async function inflate(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const { readable, writable } = new DecompressionStream("deflate");
  // Written directly: the stream of a Blob passes through another process, which takes longer than decompression.
  const writer = writable.getWriter();
  const [text] = await Promise.all([new Response(readable).text(), writer.write(bytes), writer.close()]);
  return text;
}
