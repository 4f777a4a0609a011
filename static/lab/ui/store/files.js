// Which file of a replica the inspector shows, and what the server says of a file.
import { ask, here } from "./api.js";
import { signal, tab } from "./state.js";

/** Which file is shown: `from` is the first byte of the page, `focus` the range that is marked. */
export const place = signal({ replica: "", file: "", as: "meaning", from: 0, focus: null });
export const show = (more) => (place.value = { ...place.peek(), from: 0, focus: null, ...more });

/** The name of a segment's log. */
export const logName = (base) => `${String(base).padStart(20, "0")}.log`;

/** Shows a replica's files in the inspector, at a segment and a byte if they are given. */
export function openFile(replica, segment = null, position = 0) {
  show({ replica, file: segment === null ? "" : logName(segment), as: "meaning", focus: position ? [position, position + 1] : null });
  tab.value = "files";
}

export const get = (what, values) => ask(`${here.api}/${what}?${new URLSearchParams(values)}`);

/** Bytes of a file of a replica after an event, and the file's size. */
export async function fetchBytes(replica, file, seq, from, length) {
  const response = await get("bytes", { replica, file, seq, from, length });
  return { data: new Uint8Array(await response.arrayBuffer()), size: Number(response.headers.get("X-File-Size")) };
}

/** What a file means, from a byte on. */
export const fetchDecoded = async (replica, file, seq, from) => (await get("decoded", { replica, file, seq, from })).json();
