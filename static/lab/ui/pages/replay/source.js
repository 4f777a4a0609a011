// The source of the recorded data: the lab over HTTP, or the page itself if standalone (pages/alone/class/main.js).
import { byId } from "../../kit/element.js";

const { slug = "" } = byId("replay").dataset;
export const base = `/api/classes/${slug}/recording/`;
export const classPage = `/classes/${slug}/`;

/**
 * @typedef {{ fetch: typeof fetch, soundOf: (piece: number) => string }} Source `soundOf`: the address of a piece of
 * sound
 */

/** @type {Source} */
export const source = { fetch: (...args) => fetch(...args), soundOf: (piece) => `${base}audio/${piece}` };
