// Which file of a replica the inspector shows, and the server's responses about files.
import { request, here } from "./api.js";
import { signal, tab } from "./state.js";

/** @import { Signal } from "@preact/signals-core" */

/**
 * @typedef {{ replica: string, file: string, as: "meaning" | "bytes", from: number, focus: [number, number] | null }} FilePlace
 * @typedef {{ name: string, bytes: number, kind: string }} ReplicaFile
 * @typedef {{ offset: number, key: string | null, value: string | null, timestamp: number, position: number, size: number,
 *             headers?: [string, string][] }} DecodedRecord
 * @typedef {{ position: number, size: number, base_offset: number, last_offset: number, leader_epoch: number, crc: number, crc_ok: boolean,
 *             attributes: number, producer_id: number, max_timestamp: number, records: DecodedRecord[] }} DecodedBatch
 * @typedef {{ kind: "log", batches: DecodedBatch[] }} DecodedLog
 * @typedef {{ kind: "text", lines: string[], head?: string }} DecodedText
 * @typedef {DecodedLog | DecodedText | { kind: "index" | "timeindex", entries: [number, number][] }} Decoded
 *   as lab/recordings/decoding.py describes a file
 */

/** Which file is shown: `from` is the first byte of the page, `focus` the range that is marked. @type {Signal<FilePlace>} */
export const place = signal({ replica: "", file: "", as: "meaning", from: 0, focus: null });
/** @param {Partial<FilePlace>} more */
export const show = (more) => (place.value = { ...place.peek(), from: 0, focus: null, ...more });

/** The name of a segment's log. @param {number} base */
export const logName = (base) => `${String(base).padStart(20, "0")}.log`;

/**
 * Shows a replica's files in the inspector, at a segment and a byte if they are given.
 * @param {string} replica
 * @param {number | null} [segment]
 * @param {number} [position]
 */
export function openFile(replica, segment = null, position = 0) {
  show({ replica, file: segment === null ? "" : logName(segment), as: "meaning", focus: position ? [position, position + 1] : null });
  tab.value = "files";
}

/**
 * Asks for something of a replica's files.
 * @param {string} what
 * @param {Record<string, string | number>} values
 */
export const get = (what, values) =>
  request(`${here.api}/${what}?${new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)]))}`);

/**
 * Bytes of a file of a replica after an event, and the file's size.
 * @param {string} replica
 * @param {string} file
 * @param {number} seq
 * @param {number} from
 * @param {number} length
 */
export async function fetchBytes(replica, file, seq, from, length) {
  const response = await get("bytes", { replica, file, seq, from, length });
  return { data: new Uint8Array(await response.arrayBuffer()), size: Number(response.headers.get("X-File-Size")) };
}

/**
 * What a file means, from a byte on.
 * @param {string} replica
 * @param {string} file
 * @param {number} seq
 * @param {number} from
 * @returns {Promise<Decoded>}
 */
export const fetchDecoded = async (replica, file, seq, from) => (await get("decoded", { replica, file, seq, from })).json();
