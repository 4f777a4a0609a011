// Texts in the visitor's language. The catalogue is the one that the server's templates use.

export const language = document.documentElement.lang === "zh-CN" ? "zh-CN" : "en";
/** The language's name in event labels and exercise texts. */
export const short = language === "en" ? "en" : "zh";

const load = async (name) => (await fetch(new URL(`../../i18n/${name}.json`, import.meta.url))).json();
const texts = await load(language);

/**
 * The text of `key` with `{name}` replaced by values. Where `n` is 1 and `key.one` exists, that one is taken.
 * @param {string} key
 * @param {Record<string, unknown>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  const text = (values.n === 1 && texts[`${key}.one`]) || texts[key];
  if (text === undefined) throw new Error(`no text for ${key} in ${language}`);
  if (!text.includes("{")) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Whether the catalogue knows a key. */
export const has = (key) => key in texts;
