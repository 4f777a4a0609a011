// What a page that is one file carries in itself: bytes, compressed (zlib) and written in base64.

/** The text of an element that carries something. @param {string} base64 @returns {Promise<string>} */
export async function inflate(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
