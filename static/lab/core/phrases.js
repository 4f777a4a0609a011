// What the core says in English, with the values in place, is found again by the sentences of a list, with {0}, {1} for the values.

const PLACE = /\{(\d)\}/;
/** So many are remembered: pictures and lists ask for the same ones in every frame. */
const KNOWN_MOST = 2000;

/** Whether a sentence begins with another one. @param {string} english */
const isAround = (english) => /^\{0\}[:,]/.test(english);
/** How much a sentence says without its values. @param {string} english */
const weight = (english) => english.replace(/\{\d\}/g, "").length;

/**
 * Translates by a list, English to the other language. A value may be a sentence of the list itself; what is not in it stays.
 * @param {Record<string, string>} list
 * @returns {(said: string) => string}
 */
export function translator(list) {
  // What stands around others comes first, then those that say most.
  const sentences = Object.entries(list)
    .toSorted(([a], [b]) => Number(isAround(b)) - Number(isAround(a)) || weight(b) - weight(a))
    .map(([english, other]) => ({ pattern: patternOf(english), other }));
  /** @param {string} said @returns {string} */
  const translate = (said) => {
    for (const { pattern, other } of sentences) {
      const values = said.match(pattern);
      if (values) return other.replace(/\{(\d)\}/g, (_, place) => translate(values.groups?.[`v${place}`] ?? ""));
    }
    return said;
  };
  /** @type {Map<string, string>} */
  const known = new Map();
  return (said) => {
    let other = known.get(said);
    if (other === undefined) {
      if (known.size >= KNOWN_MOST) known.clear();
      known.set(said, (other = translate(said)));
    }
    return other;
  };
}

/** @param {string} english */
function patternOf(english) {
  const parts = english.split(PLACE);
  const source = parts.map((part, at) => (at % 2 ? `(?<v${part}>.*)` : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
  return new RegExp(`^${source.join("")}$`, "s");
}

/** Of the forms of a command, "a | b | c", those of the verb that a line tried; all of them if it tried none of these.
 * @param {string} forms @param {string} line */
export function formsOf(forms, line) {
  const verb = line.split(" ", 2).join(" ");
  return forms.split(" | ").filter((form) => `${form} `.startsWith(`${verb} `)).join(" | ") || forms;
}
