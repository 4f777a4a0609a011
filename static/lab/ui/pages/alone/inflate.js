// What a page that is one file carries in itself: bytes, compressed (zlib) and written in base64.

/** The text of an element that carries something. @param {string} base64 @returns {Promise<string>} */
export async function inflate(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const { readable, writable } = new DecompressionStream("deflate");
  // Written directly: the stream of a Blob comes through another process, which takes longer than to decompress it.
  const writer = writable.getWriter();
  const [text] = await Promise.all([new Response(readable).text(), writer.write(bytes), writer.close()]);
  return text;
}
