// Communication between the page /inspect/ and its worker, and the state that the panels share.
import { computed, signal } from "../../store/state.js";

export { signal };

const worker = new Worker(new URL("../../../own_files/worker.js", import.meta.url), { type: "module" });
/** @import { Signal } from "@preact/signals-core" */
/** @import { Fault } from "./texts.js" */
/** @import { Given, OwnFiles } from "../../../own_files/own_files.js" */
/** @import { Meaning } from "../../../own_files/coordinator_records.js" */
/** @import { Api } from "../../../own_files/worker.js" */

/**
 * @typedef {ReturnType<OwnFiles["state"]>} State
 * @typedef {State["files"][number]} FileState
 * @typedef {{ id: number, row: number }} BatchPlace `id`: of its log
 * @typedef {State["faults"][number]} FileFault
 */

/**
 * Pending requests to the worker, by number.
 * @type {Map<number, { resolve: (answer: unknown) => void, reject: (fault: Fault) => void }>}
 */
const asked = new Map();
let asks = 0;

/** The state of all files, as `OwnFiles.state` returns it. @type {Signal<State>} */
export const state = signal({ busy: false, done: 0, total: 0, files: [], faults: [], faultsTotal: 0 });
/** Id of the file in the middle, 0 for none. */
export const chosen = signal(0);
/** The batch at the right. @type {Signal<BatchPlace | null>} */
export const batch = signal(null);
/** The entry or line that is marked in the middle. */
export const marked = signal(-1);
/** Byte of the log under the pointer; -1 for none. */
export const pointed = signal(-1);
/** The column that a narrow window shows: files, content, batch. */
export const column = signal("files");
/** How records are read. @type {Signal<Meaning | "auto">} */
export const meaning = signal("auto");

export const file = computed(() => state.value.files.find(({ id }) => id === chosen.value) ?? null);

worker.onmessage = ({ data }) => {
  if (data.state) {
    state.value = data.state;
    showFirst();
  }
  const { resolve, reject } = asked.get(data.ask) ?? {};
  asked.delete(data.ask);
  if (data.error) reject?.(data.error);
  else resolve?.(data.answer);
};

/**
 * Asks the worker; rejects with a `Fault`.
 * @template {keyof Api} Name
 * @param {Name} what
 * @param {object} [values]
 * @returns {Promise<Awaited<ReturnType<Api[Name]>>>}
 */
export const call = (what, values = {}) => new Promise((resolve, reject) => {
  asks += 1;
  asked.set(asks, { resolve: (answer) => resolve(/** @type {Awaited<ReturnType<Api[Name]>>} */ (answer)), reject });
  worker.postMessage({ ask: asks, what, ...values });
});

/**
 * Like `call`, but returns null instead of a fault.
 * @template {keyof Api} Name
 * @param {Name} what
 * @param {object} values
 */
export const answerOf = (what, values) => call(what, values).catch(() => null);

/** Shows a file in the main pane. @param {number} id */
export function choose(id) {
  chosen.value = id;
  marked.value = -1;
  column.value = "content";
}

/**
 * Opens a batch at the right, and marks it in the middle if its log is shown there.
 * @param {number} id
 * @param {number} row
 */
export function openBatch(id, row) {
  batch.value = { id, row };
  column.value = "batch";
}

/** Shows a batch among its neighbours. @param {number} id @param {number} row */
export function showInLog(id, row) {
  if (chosen.value !== id) choose(id);
  marked.value = row;
  column.value = "content";
  batch.value = { id, row };
}

/** Shows where a rule is broken: a batch of a log, or an entry of a table. @param {FileFault} fault */
export async function showFault({ file: id, position, rule }) {
  const found = state.value.files.find((one) => one.id === id);
  if (found?.kind !== "log") {
    choose(id);
    const size = new Map([["index", 8], ["timeindex", 12], ["txnindex", 34]]).get(found?.kind ?? "");
    if (size) marked.value = Math.floor(position / size);
    return;
  }
  const row = rule === "name" ? null : await answerOf("find", { id, position });
  if (row === null) choose(id);
  else showInLog(id, row);
}

/** Shows a log as soon as one has a batch; if none has, the first file when all are read. */
function showFirst() {
  const { files, busy } = state.value;
  if (file.value) return;
  const log = files.find(({ kind, count }) => kind === "log" && count);
  if (log) batch.value = { id: log.id, row: 0 };
  if (log || !busy) chosen.value = (log ?? files[0])?.id ?? 0;
}

/** Gives files to the worker. @param {Given[]} given */
export async function add(given) {
  if (given.length) await call("add", { given });
}

export async function clear() {
  await call("clear");
  chosen.value = 0;
  batch.value = null;
}

export const cancel = () => call("cancel");
