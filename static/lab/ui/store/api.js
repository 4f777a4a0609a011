// What a person can do: send a line to the cluster, fork, bookmark, share, fetch something of the run.
import { has, t } from "../kit/i18n.js";
import { instant } from "../kit/format.js";
import { steer } from "./interactions.js";
import { consoleOpen, effect, front, moment, player, signal } from "./state.js";
import { printed, term } from "../kit/words.js";

/** @import { Signal } from "@preact/signals-core" */

/**
 * @typedef {"ok" | "warn" | "bad"} Tone
 * @typedef {{ id: number, tone: Tone, what: string, expected: string, todo: string, line: string }} Message
 * @typedef {{ kind: "help" | "topic" | "bookmark" | "fork" | "pause" | "find" | "producer" | "member" | "assignor" | "connect"
 *   | "page" | "about" }} Overlay
 */

/** Messages shown at the edge of the page, newest last. @type {Signal<Message[]>} */
export const messages = signal([]);
/**
 * A line that waits for an answer to "you are in the past"; "" means that it is not sent.
 * @type {Signal<{ line: string, resolve: (answer: "fork" | "now" | "") => void } | null>}
 */
export const pastLine = signal(null);
/** Which dialog is open. @type {Signal<Overlay | null>} */
export const overlay = signal(null);

const SHOWN_MS = { ok: 4000, warn: 9000 };
/** What a command can do while the simulation is paused is done after this time. */
const AT_ONCE_MS = 250;
let nextMessage = 1;

/**
 * Shows a message. Bad ones stay until they are closed. `line`: the line of the shell it is about.
 * @param {Tone} tone
 * @param {string} what
 * @param {{ expected?: string, todo?: string, line?: string }} [more]
 * @returns {number} its id
 */
export function notify(tone, what, { expected = "", todo = "", line = "" } = {}) {
  const message = { id: nextMessage++, tone, what, expected, todo, line };
  const others = messages.peek().filter((other) => other.what !== what);
  messages.value = [...others.slice(-3), message];
  if (tone !== "bad") setTimeout(() => dismiss(message.id), SHOWN_MS[tone]);
  return message.id;
}

/** @param {number} id */
export const dismiss = (id) => (messages.value = messages.peek().filter((message) => message.id !== id));

/** Why the lab has closed the connection for good. */
export const closedText = () => t("connection.closed", { why: term(player.closed?.reason) || player.closed?.code });

/**
 * Shows a refusal or any other error. Refusals that the page made itself have a code and a text in the catalogue.
 * @param {unknown} error
 * @param {string} [line]
 */
export function refuse(error, line = "") {
  const refusal = /** @type {{ code?: string, what?: string, expected?: string, todo?: string, message?: string }} */ (error ?? {});
  const { code, what, expected, todo } = refusal;
  if (code === "lost" && player.closed) {
    notify("bad", closedText(), { todo: t("connection.closed_todo") });
    return;
  }
  if (code && has(`refusal.${code}`)) notify(code === "lost" ? "warn" : "bad", t(`refusal.${code}`), { todo: t(`refusal.${code}_todo`) });
  else if (what) notify("bad", what, { expected, todo, line });
  else notify("bad", t("error.unexpected"), { expected: String(refusal.message ?? error), todo: t("error.unexpected_todo") });
}

/** @type {HTMLElement | null} */
const lab = document.getElementById("lab") ?? document.querySelector("[data-run], main[data-csrf]");
const { run = "", branch = "", csrf = "", classroom = "" } = lab?.dataset ?? {};
/** The class that this page's run belongs to; empty for none. */
export { classroom };
/** Whether the page is a file that plays a recording by itself: then there is no lab to act in, and no server to ask. */
export const isAlone = document.documentElement.dataset.alone !== undefined;
/** The branch that is shown: that of the page, or of whom it follows. */
export const here = {
  get run() { return front.value?.run ?? run; },
  get branch() { return front.value?.branch ?? branch; },
  get page() { return `/r/${this.run}/${this.branch}`; },
  get api() { return `/api/runs/${this.run}/${this.branch}`; },
};

/**
 * Sends a request to the server; a POST if there is a body.
 * @param {string} address
 * @param {unknown} [body]
 * @param {AbortSignal} [signal] gives it up
 * @throws the server's refusal ({what, expected, todo}) when the response is one
 */
export async function request(address, body, signal) {
  /** @type {RequestInit} */
  const options = body === undefined ? { signal } : {
    method: "POST", signal,
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(address, options);
  } catch {
    throw { what: t("error.unreachable"), expected: t("error.unreachable_expected"), todo: t("error.unreachable_todo") };
  }
  if (response.ok) return response;
  const refusal = await response.json().catch(() => null);
  throw refusal?.what ? refusal : { what: t("error.status", { status: response.status }), expected: "", todo: t("error.unexpected_todo") };
}

/** Asks whether to fork. @param {string} line @returns {Promise<"fork" | "now" | "">} */
const askPast = (line) => new Promise((resolve) => (pastLine.value = { line, resolve }));

/**
 * Sends a line of the shell's grammar. In the past it asks first, because acting there opens a branch.
 * @param {string} line
 * @returns {Promise<number | null>} the command's number; null when it was refused (and the refusal shown) or not sent
 */
export async function act(line) {
  if (!steer("command")) return null;
  if (player.isPast) {
    const answer = await askPast(line);
    if (answer === "fork") {
      await fork(line);
      return null;
    }
    if (answer !== "now") return null;
    player.goLive();
  }
  try {
    const done = await player.do(line);
    follow(done.command, line);
    return done.command;
  } catch (error) {
    refuse(error, line);
    return null;
  }
}

/** A line that sets a quota, which this lab stores but does not enforce. */
const QUOTA = new RegExp("^kafka-configs\\S* .*--add-config.*"
  + "(producer_byte_rate|consumer_byte_rate|request_percentage|controller_mutation_rate|connection_creation_rate)=");

/**
 * Reports why a command failed once it has ended, and that it waits while the simulation is paused. The console shows all of it.
 * @param {number} command
 * @param {string} line
 */
function follow(command, line) {
  const waits = () => player.mode === "pause" && moment.peek().view.console[command]?.state !== "done";
  setTimeout(() => {
    if (!waits()) return;
    const at_us = player.live_at_us;
    const id = notify("ok", t("act.accepted"), { line, todo: t("act.accepted_todo") });
    // It contains a remedy; after that it would cover the result.
    const done = effect(() => {
      if (moment.value.mode === "pause" && moment.value.live_at_us === at_us) return;
      dismiss(id);
      queueMicrotask(() => done());
    });
  }, AT_ONCE_MS);
  const stop = effect(() => {
    const entry = moment.value.view.console[command];
    if (entry?.state !== "done") return;
    if (entry.exit_code !== 0 && !consoleOpen.peek()) {
      const lines = entry.output.map(printed).filter(Boolean);
      notify("bad", lines[0] ?? t("console.failed", { code: entry.exit_code }), { line: entry.line, todo: lines[1] });
    }
    if (entry.exit_code === 0 && QUOTA.test(line)) notify("warn", t("act.quota"), { todo: t("act.quota_todo") });
    queueMicrotask(() => stop());
  });
}

/**
 * Opens a branch at the shown instant and shows it.
 * @param {string} [line] the first command sent there
 * @param {string} [name] of the branch
 */
export async function fork(line = "", name = "") {
  if (!steer("fork")) return;
  try {
    const { url } = await player.fork(line, name);
    location.assign(url);
  } catch (error) {
    refuse(error);
  }
}

/** @param {string} name */
export async function bookmark(name) {
  if (!steer("bookmark")) return;
  try {
    await player.bookmark(name);
    notify("ok", t("bookmark.done", { name, at: instant(player.at_us) }));
  } catch (error) {
    refuse(error);
  }
}

/** Copies text, and notifies the user. @param {string} text @param {string} message */
export async function copy(text, message) {
  try {
    await navigator.clipboard.writeText(text);
    notify("ok", message);
  } catch {
    notify("warn", t("copy.failed"), { line: text, todo: t("copy.failed_todo") });
  }
}
