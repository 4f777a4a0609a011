// Sentences for screen readers, of the lab and of the class: one queue fills two live regions.
import { Speech, spoken } from "../../core/speech.js";
import { signal } from "./state.js";

/** @import { Signal } from "@preact/signals-core" */

/** What the polite region holds. */
export const polite = signal("");
/** What the assertive region holds. */
export const assertive = signal("");

/** @param {Signal<string>} region @returns {(text: string) => void} */
const into = (region) => (text) => (region.value = spoken(region.peek(), text));

export const speech = new Speech({ polite: into(polite), assertive: into(assertive) });
