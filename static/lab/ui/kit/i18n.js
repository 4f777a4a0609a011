// Texts in the visitor's language. The catalogue is the one that the server's templates use, and includes the messages of the core.

import { Texts } from "../../core/texts.js";

export const language = document.documentElement.lang === "zh-CN" ? "zh-CN" : "en";
/** The language's name in exercise texts. */
export const short = language === "en" ? "en" : "zh";

export const texts = new Texts(await (await fetch(document.documentElement.dataset.texts ?? "")).json(), language);

/**
 * The text of `key` with `{name}` replaced by values. Where `n` is 1 and `key.one` exists, that one is taken.
 * @param {string} key
 * @param {Record<string, unknown>} [values]
 * @returns {string}
 */
export const t = (key, values) => texts.text(key, values);

/** Whether the catalogue knows a key. @param {string} key */
export const has = (key) => texts.has(key);
