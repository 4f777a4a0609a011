// Polls in the language of the page.

/** @import { ClassTree, Poll } from "./class.d.ts" */

/** A poll as a page of this language shows it. @param {Poll} poll @param {string} language @returns {Poll} */
function pollIn(poll, language) {
  const other = poll.other;
  if (!other || other.lang !== language || poll.lang === language) return poll;
  return { ...poll, choices: other.choices, ...(other.text ? { text: other.text, lang: other.lang } : {}) };
}

/** What a class shows, with its polls in a language. @param {ClassTree} tree @param {string} language @returns {ClassTree} */
export function inLanguage(tree, language) {
  if (!tree.polls) return { ...tree };
  const polls = Object.entries(tree.polls).map(([number, poll]) => [number, pollIn(poll, language)]);
  return { ...tree, polls: Object.fromEntries(polls) };
}
