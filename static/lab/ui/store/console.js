// Lines for the console that other parts of the page propose.
import { consoleOpen, signal } from "./state.js";

/** A line that the console is to take over; "" when there is none. */
export const offered = signal("");

/** Opens the console and puts a line into it, without sending it. @param {string} line */
export function offerLine(line) {
  consoleOpen.value = true;
  offered.value = line;
}
