// The worker of the page /inspect/: reads files, so that the page stays responsive. Nothing is sent anywhere but to the page.
import { Unreadable } from "./bytes.js";
import { OwnFiles } from "./own_files.js";

/** @import { Given } from "./own_files.js" */

const SEND_EVERY_MS = 100;

let sent_ms = 0;
/** @type {ReturnType<typeof setTimeout> | 0} */
let timer = 0;

function send() {
  clearTimeout(timer);
  timer = 0;
  sent_ms = performance.now();
  postMessage({ state: files.state() });
}

/** Sends the state, at most ten times a second. */
function sendSoon() {
  if (performance.now() - sent_ms > SEND_EVERY_MS) send();
  else timer ||= setTimeout(send, SEND_EVERY_MS);
}

const files = new OwnFiles(sendSoon);

/** What is done without an answer. */
const DEEDS = {
  /** @param {{ given: Given[] }} values */
  add: ({ given }) => files.add(given),
  cancel: () => files.cancel(),
  clear: () => files.clear(),
};

/** The requests that are answered from the files. */
const QUESTIONS = {
  summary: files.summary, rows: files.rows, entries: files.entries, logOf: files.logOf, find: files.find,
  batch: files.batch, hex: files.hex, bytes: files.bytes,
};

/** @typedef {typeof DEEDS & typeof QUESTIONS} Api what the page may ask of the worker, by name */

/** @param {string} what @param {object} values */
async function answered(what, values) {
  const deed = new Map(Object.entries(DEEDS)).get(what);
  if (deed) {
    await deed(/** @type {{ given: Given[] }} */ (values));
    send();
    return null;
  }
  const question = /** @type {Map<string, (this: OwnFiles, values: object) => unknown>} */ (new Map(Object.entries(QUESTIONS))).get(what);
  if (!question) throw new Error(`no such question: ${what}`);
  files.questions += 1;
  try {
    return await question.call(files, values);
  } finally {
    files.questions -= 1;
  }
}

onmessage = async ({ data: { ask, what, ...values } }) => {
  try {
    postMessage({ ask, answer: await answered(what, values) });
  } catch (error) {
    // A file may have been changed or removed on the disk since it was given: the browser says NotReadableError.
    postMessage({ ask, error: error instanceof Unreadable ? { rule: error.rule, values: error.values }
      : { rule: "unreadable", values: { said: String(error) } } });
  }
};
