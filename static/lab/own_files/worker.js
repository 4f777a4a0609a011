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

onmessage = async ({ data: { ask, what, ...values } }) => {
  try {
    if (what === "add") await files.add(values.given);
    else if (what === "cancel" || what === "clear") files[what]();
    const answer = ["add", "cancel", "clear"].includes(what) ? null : await files[what](values);
    if (what === "add" || what === "clear") tell();
    postMessage({ ask, answer });
  } catch (error) {
    // A file may have been changed or removed on the disk since it was given: the browser says NotReadableError.
    postMessage({ ask, error: error instanceof Unreadable ? { rule: error.rule, values: error.values } : { rule: "unreadable", values: { said: String(error) } } });
  }
};
