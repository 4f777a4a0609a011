// What the disk screen shows, and what the server said about it.
import { ask, here } from "./api.js";
import { effect, moment, partition, shown, signal } from "./state.js";

const RELOAD_MS = 1000;
const ROW = 16;
/** So much is shown before the byte that is looked at. */
const CONTEXT_BYTES = 64;
const NEAR_BYTES = 768;
const isNear = (from, at) => from !== null && from <= at && at - from < NEAR_BYTES;

/** The broker that stands for the textbook's example. */
export const EXAMPLE = "example";
export const MODES = ["bytes", "find", "loss", "past", "copy"];

/** What is shown: `at` is the byte that is looked at, on a page that begins at `from` if it may be chosen freely; `find` is an
 *  offset or, behind a t, a timestamp in ms. */
export const place = signal({ broker: "", path: "", mode: "bytes", at: 0, from: null, find: "" });
export const goTo = (more) => (place.value = { ...place.peek(), from: null, ...more });

/** The broker's folders: {broker, seq, folders, error}. */
export const tree = signal({ broker: "", seq: 0, folders: [] });
/** One page of the file: what `lab/recordings/broker_disk.py` says of it, with `key`; or {key, error}. */
export const page = signal({ key: "" });

/** The folder of a path, the broker's own being "". */
export const folderOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));
export const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1);
export const pathOf = (folder, name) => (folder ? `${folder}/${name}` : name);

/** Asks the server about the disk that is shown, at the instant that is shown. */
export async function askDisk(what, values) {
  const { broker } = place.peek();
  const query = new URLSearchParams({ broker, seq: moment.peek().seq, ...values });
  return (await ask(`${here.api}/disk/${what}?${query}`)).json();
}

/** The brokers of the view, by number. */
export const brokersOf = (view) => Object.entries(view.nodes)
  .filter(([, { kind }]) => kind === "broker").map(([id]) => id).sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));

/** A file to begin with: the newest segment of the partition that is shown, else of any, else any file. */
function firstPath(folders) {
  const chosen = folders.find(({ name }) => name && name === partition.peek()) ?? folders.find(({ files, name }) => name && files.length) ?? folders[0];
  const logs = chosen?.files.filter(({ kind, bytes, state }) => kind === "log" && bytes && state !== "deleted") ?? [];
  const file = logs.at(-1) ?? chosen?.files[0];
  return file ? pathOf(chosen.name, file.name) : "";
}

/** Whether a file, or a folder, is there at the instant whose tree is known. */
export const isThere = (path) => tree.peek().folders.some(({ name, files }) =>
  path === name || files.some((file) => pathOf(name, file.name) === path));

async function loadTree() {
  const { broker } = place.peek();
  const { seq, view } = moment.peek();
  const folders = broker === EXAMPLE || broker in view.nodes ? await askDisk("tree", {}) : [];
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
  const isSame = known.path === path && known.broker === broker;
  // The page that holds the byte already stays, so that walking through its fields does not move it.
  const stays = isSame && at >= known.from && at < known.to && !isNear(wanted, at);
  const from = stays ? known.from : isNear(wanted, at) ? wanted : Math.max(0, at - (at % ROW) - CONTEXT_BYTES);
  page.value = { broker, ...(await askDisk("page", { path, from })) };
}

let running = false;
let again = false;

/** Brings tree and page up to what is to be shown; asked again while it runs, it runs once more. */
async function load() {
  again = running;
  if (running) return;
  running = true;
  try {
    await loadTree();
    await loadPage();
  } catch (error) {
    const { broker, path } = place.peek();
    page.value = { broker, path, error };
  }
  running = false;
  if (again) setTimeout(load, moment.peek().mode === "pause" ? 0 : RELOAD_MS);
}

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
  const what = [broker, path, at, broker === EXAMPLE ? 0 : seq].join("|");
  if (what === asked) return;
  asked = what;
  queueMicrotask(load);
});
