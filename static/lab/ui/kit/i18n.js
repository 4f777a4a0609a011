// Texts in the visitor's language. The catalogue is the one that the server's templates use, and has the messages of the core, too.

import { fill, renderer } from "../../core/texts.js";

export const language = document.documentElement.lang === "zh-CN" ? "zh-CN" : "en";
/** The language's name in event labels and exercise texts. */
export const short = language === "en" ? "en" : "zh";

/** @type {Record<string, string>} */
const texts = await (await fetch(document.documentElement.dataset.texts ?? "")).json();

/**
 * The text of `key` with `{name}` replaced by values. Where `n` is 1 and `key.one` exists, that one is taken.
 * @param {string} key
 * @param {Record<string, unknown>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  const text = fill(texts, key, values);
  if (text === undefined) throw new Error(`no text for ${key} in ${language}`);
  return text;
}

/** Whether the catalogue knows a key. @param {string} key */
export const has = (key) => key in texts;

/** A message of the server, which is a code, in the visitor's language; prose of an old recording as it is. */
export const render = renderer(texts);
