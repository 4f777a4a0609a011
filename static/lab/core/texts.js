// Messages of the server in the visitor's language. A message is a code, an id and named values as in a URL's query:
// `reason.member_removed?member=c1&why=(reason.session_timed_out)`. broker_core/texts/text.py writes and reads the same.

const ID = /[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)+/y;
const VALUE = /([a-z]\w*)=(?:(\()|([^\s&=?()]*))/y;
const PLACE = /\{(\w+)\}/g;
/** Messages within messages; deeper ones are not codes. */
const MAX_DEPTH = 16;
/** Rendered codes that are remembered: pictures and lists ask for the same ones in every frame. */
const MAX_KNOWN = 2000;

/** @typedef {{ id: string, values: Record<string, Value> }} Text */
/** @typedef {string | Text} Value */
/** @typedef {Record<string, string>} Catalogue id to template, in one language */
/** @typedef {(key: string, values?: Record<string, unknown>) => string} Translate a text of the page in the visitor's language */

/**
 * The message of a code; null where it is none, but prose of an old recording or Kafka's own words.
 * @param {string} code
 * @returns {Text | null}
 */
export function parse(code) {
  const found = parseAt(code, 0, 0);
  return found && found.end === code.length ? found.text : null;
}

/**
 * @param {string} code @param {number} at @param {number} depth
 * @returns {{ text: Text, end: number } | null}
 */
function parseAt(code, at, depth) {
  const id = depth > MAX_DEPTH ? null : matchAt(ID, code, at);
  if (!id) return null;
  /** @type {Record<string, Value>} */
  const values = {};
  let end = at + id[0].length;
  for (let before = "?"; code[end] === before; before = "&") {
    const value = matchAt(VALUE, code, end + 1);
    if (!value) return null;
    end += 1 + value[0].length;
    if (value[2]) {
      const inner = parseAt(code, end, depth + 1);
      if (!inner || code[inner.end] !== ")") return null;
      values[value[1]] = inner.text;
      end = inner.end + 1;
    } else {
      const plain = unescape(value[3]);
      if (plain === null) return null;
      values[value[1]] = plain;
    }
  }
  return { text: { id: id[0], values }, end };
}

/** @param {RegExp} pattern @param {string} code @param {number} at */
function matchAt(pattern, code, at) {
  pattern.lastIndex = at;
  return pattern.exec(code);
}

/** @param {string} value @returns {string | null} null if its escapes are not valid UTF-8 */
function unescape(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

/**
 * The text of an id with the values in its places; where `n` is 1 and `id.one` exists, that one. Undefined without a template
 * or without a value for one of its places.
 * @param {Catalogue} catalogue
 * @param {string} id
 * @param {Record<string, unknown>} values
 * @returns {string | undefined}
 */
export function fill(catalogue, id, values) {
  const template = (String(values.n) === "1" && catalogue[`${id}.one`]) || catalogue[id];
  let isFilled = true;
  const text = template?.replace(PLACE, (_, name) => {
    isFilled &&= name in values;
    return String(values[name]);
  });
  return isFilled ? text : undefined;
}

/** The texts of one language. */
export class Texts {
  #catalogue;
  /** @type {Map<string, string>} */
  #known = new Map();

  /** @param {Catalogue} catalogue @param {string} language "en" or "zh-CN" */
  constructor(catalogue, language) {
    this.#catalogue = catalogue;
    this.language = language;
  }

  /** Whether there is a text for an id. @param {string} id */
  has(id) {
    return id in this.#catalogue;
  }

  /**
   * The text of an id with the values in its places.
   * @param {string} id
   * @param {Record<string, unknown>} [values]
   * @returns {string}
   * @throws {Error} without such a text, or without a value for one of its places
   */
  text(id, values = {}) {
    const text = fill(this.#catalogue, id, values);
    if (text === undefined) throw new Error(`no text for ${id} in ${this.language} with [${Object.keys(values)}]`);
    return text;
  }

  /**
   * A message of the server, which is a code. Text that is not a code of the catalogue is shown unchanged.
   * @param {string} code
   * @returns {string}
   */
  render(code) {
    let text = this.#known.get(code);
    if (text === undefined) {
      const parsed = parse(code);
      text = (parsed && this.#shown(parsed)) ?? code;
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(code, text);
    }
    return text;
  }

  /**
   * A value of an enumeration, such as the state of a client, or a message.
   * @param {string} value
   * @returns {string}
   */
  term(value) {
    return this.#catalogue[`value.${value.replaceAll(" ", "_")}`] ?? this.render(value);
  }

  /**
   * A line that a command printed. The lab's messages are codes: on standard error after "! ", on standard output after "* ".
   * Other lines are shown unchanged, those of standard error without their mark.
   * @param {string} line
   * @returns {string}
   */
  printed(line) {
    const mark = line.slice(0, 2);
    const rest = line.slice(2);
    if (mark === "! ") return this.render(rest);
    const said = mark === "* " ? this.render(rest) : rest;
    return said === rest ? line : said;
  }

  /** @param {Value} value @returns {string | undefined} */
  #shown(value) {
    if (typeof value === "string") return value;
    /** @type {Record<string, string>} */
    const values = {};
    for (const [name, inner] of Object.entries(value.values)) {
      const text = this.#shown(inner);
      if (text === undefined) return undefined;
      values[name] = text;
    }
    return fill(this.#catalogue, value.id, values);
  }
}
