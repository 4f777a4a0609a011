// The recording in the page: answers the player's requests by address from the page itself.
import { inflate } from "./inflate.js";

/** @import { Index } from "../../../core/recording/recording.js" */

/**
 * The page's description. `saved_ms`: when it was saved; `core`, `page`: digests of the fold and of the page's own
 * files.
 * @typedef {{ run: string, name: string, branch: string, era: string, brokers: number, seed: number, saved_ms: number,
 * events: number,
 *             branch_events: number, from_us: number, to_us: number, start_wall_ms: number, version: string, core:
 * string }} About
 */

/** @param {string} id */
const textOf = (id) => document.getElementById(id)?.textContent ?? "";

/** @param {string} id @returns {Promise<any>} */
const read = async (id) => JSON.parse(await inflate(textOf(id)));

const { about: told, index } = /** @type {{ about: About, index: Index }} */ (await read("index"));
/** The page's description. */
export const about = told;
/** The licences of the page's contents. */
export const licences = () => textOf("licences");

/** Answers as the lab would. @type {(address: any) => Promise<any>} */
export const answer = async (address) => {
  const n = /segments\/(\d+)\.json$/.exec(String(address))?.[1];
  const content = n === undefined ? index : await read(`segment-${n}`);
  return { ok: true, json: async () => content };
};

/** The rate at which the whole recording plays in two minutes, at most real time. */
const WHOLE_US = 120_000_000;
export const rate = Math.max(0.0025, Math.min(1, (index.last_at_us - (index.first_at_us ?? 0)) / WHOLE_US));
