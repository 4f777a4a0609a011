// What the page asks of a branch by HTTP beside its history: a fork, a bookmark.

import { Refusal } from "../refusal.js";

/**
 * @param {string} address of the branch's API, ending in "/"
 * @param {{ fetch: typeof globalThis.fetch, csrf: string }} options
 * @param {string} verb
 * @param {object} body
 * @returns {Promise<any>} the answer
 * @throws {Refusal}
 */
export async function post(address, { fetch, csrf }, verb, body) {
  const response = await fetch(address + verb, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf },
    body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({ what: `HTTP status ${response.status}` }));
  if (!response.ok) throw new Refusal(answer);
  return answer;
}
