// What a person can do: send a line to the cluster, fork, bookmark, share, fetch something of the run.
import { has, t } from "../kit/i18n.js";
import { instant } from "../kit/format.js";
import { consoleOpen, effect, moment, player, signal } from "./state.js";
import { complaint, said } from "../kit/words.js";

/** Messages shown at the edge of the page, newest last: {id, tone, what, expected, todo, line}. */
export const messages = signal([]);
/** A line that waits for an answer to "you are in the past": {line, resolve}, or null. */
export const pastLine = signal(null);
/** Which overlay is open: {kind: "help"|"topic"|"bookmark"|"find"} or null. */
export const overlay = signal(null);

const SHOWN_MS = { ok: 4000, warn: 9000 };
/** What a command can do while time stands still, it has done after so many milliseconds. */
const AT_ONCE_MS = 250;
let nextMessage = 1;

/** Shows a message. `tone`: ok, warn or bad; bad ones stay until they are closed. `line`: the line of the shell it is about. */
export function say(tone, what, { expected = "", todo = "", line = "" } = {}) {
  const message = { id: nextMessage++, tone, what, expected, todo, line };
  const others = messages.peek().filter((other) => other.what !== what);
  messages.value = [...others.slice(-3), message];
  if (tone !== "bad") setTimeout(() => dismiss(message.id), SHOWN_MS[tone]);
}

export const dismiss = (id) => (messages.value = messages.peek().filter((message) => message.id !== id));

/** Why the lab has closed the connection for good. */
export const closedWords = () => t("connection.closed", { why: said(player.closed.reason) || player.closed.code });

/** Shows a refusal ({what, expected, todo}) or any other error. Refusals that the page made itself have a code and texts of ours. */
export function refuse(error, line = "") {
  const { code, what } = error ?? {};
  if (code === "lost" && player.closed) {
    say("bad", closedWords(), { todo: t("connection.closed_todo") });
    return;
  }
  if (code && has(`refusal.${code}`)) say(code === "lost" ? "warn" : "bad", t(`refusal.${code}`), { todo: t(`refusal.${code}_todo`) });
  else if (what) say("bad", what, { ...error, line });
  else say("bad", t("error.unexpected"), { expected: String(error?.message ?? error), todo: t("error.unexpected_todo") });
}

const lab = document.getElementById("lab") ?? document.querySelector("[data-run]");
const { run, branch, csrf } = lab?.dataset ?? {};
export const here = { run, branch, name: lab?.dataset.name ?? "", page: `/r/${run}/${branch}`, api: `/api/runs/${run}/${branch}` };

/** Asks the server. Throws its refusal ({what, expected, todo}) when the answer is one. */
export async function ask(address, body) {
  const options = body === undefined ? {} : {
    method: "POST",
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
  const said = await response.json().catch(() => null);
  throw said?.what ? said : { what: t("error.status", { status: response.status }), expected: "", todo: t("error.unexpected_todo") };
}

/** Asks whether to fork; true when the line was sent, in whatever branch. */
const askPast = (line) => new Promise((resolve) => (pastLine.value = { line, resolve }));

/**
 * Sends a line of the shell's grammar. In the past it asks first, because acting there opens a branch.
 * @returns {Promise<number | null>} the command's number; null when it was refused (and the refusal shown) or not sent
 */
export async function act(line) {
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

/** A line that sets a quota: nothing will show what Kafka would do about it. */
const QUOTA = /^kafka-configs\S* .*--add-config.*(producer_byte_rate|consumer_byte_rate|request_percentage|controller_mutation_rate|connection_creation_rate)=/;

/** Says what a command said when it has ended, if it failed; and that it waits for time, where time stands still. The console shows all of it. */
function follow(command, line) {
  const waits = () => player.mode === "pause" && moment.peek().view.console[command]?.state !== "done";
  setTimeout(() => waits() && say("ok", t("act.accepted"), { line, todo: t("act.accepted_todo") }), AT_ONCE_MS);
  const stop = effect(() => {
    const entry = moment.value.view.console[command];
    if (entry?.state !== "done") return;
    if (entry.exit_code !== 0 && !consoleOpen.peek()) {
      const said = entry.output.map(complaint).filter(Boolean);
      say("bad", said[0] ?? t("console.failed", { code: entry.exit_code }), { line: entry.line, todo: said[1] });
    }
    if (entry.exit_code === 0 && QUOTA.test(line)) say("warn", t("act.quota"), { todo: t("act.quota_todo") });
    queueMicrotask(() => stop());
  });
}

/** Opens a branch at the shown instant and goes there. */
export async function fork(line = "") {
  try {
    const { url } = await player.fork(line);
    location.assign(url);
  } catch (error) {
    refuse(error);
  }
}

export async function bookmark(name) {
  try {
    await player.bookmark(name);
    say("ok", t("bookmark.done", { name, at: instant(player.at_us) }));
  } catch (error) {
    refuse(error);
  }
}

/** Copies text, and says so. */
export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    say("ok", said);
  } catch {
    say("warn", t("copy.failed"), { line: text, todo: t("copy.failed_todo") });
  }
}
