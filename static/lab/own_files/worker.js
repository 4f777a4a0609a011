// The worker of the page /inspect/: reads files there, so that the page stays quick. Nothing is sent anywhere but to the page.
import { Unreadable } from "./bytes.js";
import { OwnFiles } from "./own_files.js";

const NEWS_MS = 100;

let told = 0;
let timer = 0;

function tell() {
  clearTimeout(timer);
  timer = 0;
  told = performance.now();
  postMessage({ state: files.state() });
}

/** Says what is new, ten times a second at most. */
function news() {
  if (performance.now() - told > NEWS_MS) tell();
  else timer ||= setTimeout(tell, NEWS_MS);
}

const files = new OwnFiles(news);

/** What is done, without an answer but that it is done. */
const DEEDS = {
  add: ({ given }) => files.add(given),
  cancel: () => files.cancel(),
  clear: () => files.clear(),
};

async function answered(what, values) {
  if (what in DEEDS) {
    await DEEDS[what](values);
    tell();
    return null;
  }
  files.questions += 1;
  try {
    return await files[what](values);
  } finally {
    files.questions -= 1;
  }
}

onmessage = async ({ data: { ask, what, ...values } }) => {
  try {
    postMessage({ ask, answer: await answered(what, values) });
  } catch (error) {
    // A file may have been changed or removed on the disk since it was given: the browser says NotReadableError.
    postMessage({ ask, error: error instanceof Unreadable ? { rule: error.rule, values: error.values } : { rule: "unreadable", values: { said: String(error) } } });
  }
};
