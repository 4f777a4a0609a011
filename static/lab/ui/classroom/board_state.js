// What the instructor's page shows of the class: of this page alone.
import { signal } from "@preact/signals-core";

/** @import { Signal } from "@preact/signals-core" */
/** @typedef {{ tab: "labs" | "heat" | "people", sort: "stuck" | "name" }} BoardState */

/** @type {Signal<BoardState>} */
export const board = signal({ tab: "labs", sort: "stuck" });

/** @param {Partial<BoardState>} change */
export const show = (change) => (board.value = { ...board.peek(), ...change });
