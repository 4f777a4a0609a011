// Lines for the console that other parts of the page propose or run.
import { act } from "./api.js";
import { consoleOpen, effect, moment, signal } from "./state.js";

/** A line that the console is to take over; "" when there is none. */
export const offered = signal("");
/** Whether the console takes the focus when it opens: only when it was opened by hand, so that the keys of a lesson work. */
export const takesFocus = signal(false);

/** Opens the console and puts a line into it, without sending it. @param {string} line */
export function offerLine(line) {
  consoleOpen.value = true;
  offered.value = line;
}

/** Opens the console or closes it. */
export function toggleConsole() {
  takesFocus.value = true;
  consoleOpen.value = !consoleOpen.value;
}

/** The picture also shows what these print. */
const SEEN_IN_PICTURE = /^(producer|consumer|broker|link|hold|release) /;

/**
 * Runs a line, and opens the console once the command prints something that is seen nowhere else.
 * @param {string} line
 * @returns {Promise<number | null>} the command's number; null where it was refused
 */
export async function runLine(line) {
  const command = await act(line);
  if (command === null || SEEN_IN_PICTURE.test(line)) return command;
  const stop = effect(() => {
    const entry = moment.value.view.console[command];
    if (!entry || (entry.state !== "done" && !entry.output.length)) return;
    if (entry.output.length && !consoleOpen.peek()) {
      takesFocus.value = false;
      consoleOpen.value = true;
    }
    queueMicrotask(() => stop());
  });
  return command;
}

/** Resolves when a command has ended, or the element that it was run from has been removed.
 * @param {number} command
 * @param {Element} from
 * @returns {Promise<void>}
 */
export const ended = (command, from) => new Promise((resolve) => {
  const stop = effect(() => {
    if (moment.value.view.console[command]?.state !== "done" && from.isConnected) return;
    resolve();
    queueMicrotask(() => stop());
  });
});
