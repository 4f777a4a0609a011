// What the disk screen shows, and the server's responses about it.
import { coalesced } from "../kit/coalesced.js";
import { request, here } from "./api.js";
import { effect, moment, partition, shown, signal } from "./state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Part } from "../../core/bytes/disk.js" */
/** @import { Refusal } from "../../core/refusal.js" */
/** @import { View } from "../../core/view/view.d.ts" */

/**
 * @typedef {"bytes" | "find" | "loss" | "past" | "copy"} DiskMode
 * @typedef {{ broker: string, path: string, mode: DiskMode, at: number, from: number | null, find: string }} FullPlace
 * @typedef {Omit<FullPlace, "from">} DiskPlace
 * @typedef {{ name: string, bytes: number, kind: string, segment: number | null, state: string, flushed: number }} DiskFile
 * @typedef {{ name: string, files: DiskFile[], log_start_offset?: number, log_end_offset?: number, safe_offset?: number }} Folder
 * @typedef {{ path: string, kind: string, size: number, from: number, to: number, page: number, flushed: number, bytes: string,
 *   parts: Part[],
 * index: { slot: number, offset: number, position: number }[], time_index: { slot: number, timestamp: number, offset: number
 * }[] }} DiskPage
 *   as lab/recordings/disk/broker_disk.py describes it; `bytes` in hex
 * @typedef {DiskPage & { broker: string, missing?: undefined, error?: undefined }} KnownPage
 * @typedef {{ broker: string, path: string, missing: true, error?: undefined }} MissingPage
 * @typedef {{ broker: string, path: string, missing?: undefined, error: Partial<Refusal> }} FailedPage
 */

const RELOAD_MS = 1000;
const ROW = 16;
/** How much is shown before the byte that is looked at. */
const CONTEXT_BYTES = 64;
const NEAR_BYTES = 768;
/** @param {number | null} from @param {number} at @returns {from is number} */
const isNear = (from, at) => from !== null && from <= at && at - from < NEAR_BYTES;

/** The name of the textbook's example in place of a broker. */
export const EXAMPLE = "example";
/** @type {readonly DiskMode[]} */
export const MODES = ["bytes", "find", "loss", "past", "copy"];

/** What is shown: `at` is the byte that is looked at, on a page that begins at `from` if it may be chosen freely; `find` is an
 *  offset or, behind a t, a timestamp in ms. @type {Signal<FullPlace>} */
export const place = signal({ broker: "", path: "", mode: "bytes", at: 0, from: null, find: "" });
/** @param {Partial<FullPlace>} more */
export const goTo = (more) => (place.value = { ...place.peek(), from: null, ...more });

/** The broker's folders at an event. @type {Signal<{ broker: string, seq: number, folders: Folder[] }>} */
export const tree = signal({ broker: "", seq: 0, folders: [] });
/** The page of the file; null until one was asked for. @type {Signal<KnownPage | MissingPage | FailedPage | null>} */
export const page = signal(null);

/** The folder of a path; "" for the broker's data folder itself. @param {string} path */
export const folderOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));
/** @param {string} path */
export const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
/** @param {string} folder @param {string} name */
export const pathOf = (folder, name) => (folder ? `${folder}/${name}` : name);

/**
 * Asks the server about the disk that is shown, at the instant that is shown.
 * @param {string} what
 * @param {Record<string, string | number>} values
 */
export async function fetchDisk(what, values) {
  const { broker } = place.peek();
  const query = new URLSearchParams(Object.entries({ broker, seq: moment.peek().seq, ...values })
    .map(([name, value]) => [name, String(value)]));
  return (await request(`${here.api}/disk/${what}?${query}`)).json();
}

/** The brokers of the view, by number. @param {View} view */
export const brokersOf = (view) => Object.entries(view.nodes)
  .filter(([, { kind }]) => kind === "broker").map(([id]) => id).sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));

/** A file to begin with: the newest segment of the partition that is shown, else of any, else any file. @param {Folder[]} folders */
function firstPath(folders) {
  const chosen = folders.find(({ name }) => name && name === partition.peek()) ?? folders.find(({ files, name }) => name && files.length)
    ?? folders[0];
  const logs = chosen?.files.filter(({ kind, bytes, state }) => kind === "log" && bytes && state !== "deleted") ?? [];
  const file = logs.at(-1) ?? chosen?.files[0];
  return chosen && file ? pathOf(chosen.name, file.name) : "";
}

/** Whether a file, or a folder, is there at the instant whose tree is known. @param {string} path */
export const isThere = (path) => tree.peek().folders.some(({ name, files }) =>
  path === name || files.some((file) => pathOf(name, file.name) === path));

async function loadTree() {
  const { broker } = place.peek();
  const { seq, view } = moment.peek();
  const folders = broker === EXAMPLE || broker in view.nodes ? await fetchDisk("tree", {}) : [];
  tree.value = { broker, seq, folders };
  if (!place.peek().path) goTo({ path: firstPath(folders), at: 0 });
}

async function loadPage() {
  const { broker, path, at, from: wanted } = place.peek();
  if (!path) return;
  if (!isThere(path)) {
    page.value = { broker, path, missing: true };
    return;
  }
  const known = page.peek();
  const same = known && "size" in known && known.path === path && known.broker === broker ? known : null;
  // The page that holds the byte already stays, so that walking through its fields does not move it.
  const stays = same && at >= same.from && at < same.to && !isNear(wanted, at);
  const from = stays ? same.from : isNear(wanted, at) ? wanted : Math.max(0, at - (at % ROW) - CONTEXT_BYTES);
  page.value = { broker, ...(await fetchDisk("page", { path, from })) };
}

/** Brings tree and page up to what is to be shown. */
const load = coalesced(async () => {
  try {
    await loadTree();
    await loadPage();
  } catch (error) {
    const { broker, path } = place.peek();
    page.value = { broker, path, error: /** @type {Partial<Refusal>} */ (error) };
  }
}, () => (moment.peek().mode === "pause" ? 0 : RELOAD_MS));

// Data of one branch does not apply to another.
effect(() => {
  void here.api;
  tree.value = { broker: "", seq: 0, folders: [] };
  page.value = null;
});

let asked = "";
effect(() => {
  const { view, seq } = moment.value;
  const { broker, path, at } = place.value;
  if (shown.value !== "disk" || !seq) return;
  if (!broker) {
    const leader = view.partitions[partition.value]?.leader;
    const wanted = `b${leader}` in view.nodes ? `b${leader}` : brokersOf(view)[0];
    queueMicrotask(() => goTo({ broker: wanted ?? EXAMPLE }));
    return;
  }
  // Nothing happens to the example.
  const what = [here.api, broker, path, at, broker === EXAMPLE ? 0 : seq].join("|");
  if (what === asked) return;
  asked = what;
  queueMicrotask(load);
});
