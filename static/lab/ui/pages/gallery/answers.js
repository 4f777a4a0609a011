// Fixed answers to what elements request, in place of those of the server.

/** @typedef {() => Promise<Response>} Answer */

/** By path, without the query. @type {Map<string, Answer>} */
const answers = new Map();
const real = globalThis.fetch.bind(globalThis);

globalThis.fetch = (asked, request) => {
  const address = asked instanceof Request ? asked.url : String(asked);
  return (answers.get(new URL(address, location.href).pathname) ?? (() => real(asked, request)))();
};

/** @type {Answer} */
const never = () => new Promise(() => {});
/** @param {unknown} content @param {number} status */
const response = (content, status) => new Response(JSON.stringify(content), { status, headers: { "Content-Type": "application/json" } });

/** Answers with a content from now on. @param {string} path @param {unknown} content @param {number} [status] */
export const answer = (path, content, status = 200) => void answers.set(path, async () => response(content, status));

/** Answers once, for what is asked again and again; then no more. @param {string} path @param {unknown} content */
export const answerOnce = (path, content) => void answers.set(path, async () => {
  answers.set(path, never);
  return response(content, 200);
});

/** Gives no answer from now on. @param {string} path */
export const leaveOpen = (path) => void answers.set(path, never);

/** The refusal of something, with long sentences. */
export const REFUSAL = {
  what: "The recording is longer than a page can hold: 3 h 12 min of class time with 1 204 871 events.",
  expected: "Expected at most 2 h, or 500 000 events.",
  todo: "Choose a passage, for example from one chapter to the next, and save that.",
};
