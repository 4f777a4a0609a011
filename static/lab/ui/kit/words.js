// Sentences about events, paths of the view and nodes, and the small Markdown of exercise texts.
import { sentence as labelOf } from "../../core/events/codec.js";
import { roleOf } from "../../core/view/selectors.js";
import { html, icon } from "./element.js";
import { language, t, texts } from "./i18n.js";
import { CONTROLS, KEY_OF_A_CONTROL } from "./keys.gen.js";

/** @import { AnyEvent } from "../../core/events/events.d.ts" */
/** @import { Alarm, AnyNode, Replica, View } from "../../core/view/view.d.ts" */
/** @import { TemplateResult } from "lit" */

/** An event as one sentence in the visitor's language, by the text of its kind. @param {AnyEvent} event */
export const sentence = (event) => labelOf(event, texts);

/** A state or a reason that the core gives, in the visitor's language. @param {string | null | undefined} words */
export const term = (words) => texts.term(words ?? "");

/**
 The texts on a message and in its fields, and of what a request waits for, in the visitor's language.
 * @param {string | null | undefined} words
 */
export const labelled = (words) => texts.render(words ?? "");

/** The lines of a command's output that went to standard error. */
export const ERROR_LINE = /^! /;
/** A line that a command printed: the lab's messages in the visitor's language, Kafka's words unchanged. @param {string} line */
export const printed = (line) => upright(texts.printed(line));

/**
 * A field of an alarm, a message; an alarm of an old recording brings both languages instead.
 * @param {Alarm} alarm
 * @param {"detail" | "explained_by" | "promise"} field
 */
export const inMyLanguage = (alarm, field) =>
  texts.render((language === "zh-CN" && alarm[/** @type {`${typeof field}_zh`} */ (`${field}_zh`)]) || alarm[field]);

/** b1 -> "broker 1", zk -> "ZooKeeper"; other nodes keep their name. @param {string} node */
export function nodeName(node) {
  if (/^b\d+$/.test(node)) return t("node.broker", { n: node.slice(1) });
  if (node === "zk") return "ZooKeeper";
  return node === "shell" ? t("node.shell") : node;
}

/**
 * "/replicas/orders-0@b1/high_watermark" -> ["b1 · orders-0", "high_watermark"]: whose value, and which.
 * @param {string} pointer
 * @returns {[string, string]}
 */
export function pathWords(pointer) {
  const keys = pointer.slice(1).split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [place, name, ...rest] = keys;
  const field = rest.join(".");
  if (place === "replicas") return [name.split("@").reverse().join(" · "), field || t("path.replica")];
  if (place === "rpcs") return [name, field || t("path.rpc")];
  if (place === "zk") return ["znode", name + (field ? ` ${field}` : "")];
  return [place === "nodes" ? nodeName(name) : [place, name].filter(Boolean).join(" "), field];
}

/** A key of the view as a part of a JSON pointer. @param {string} key */
export const escapeKey = (key) => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** The acks of a producer as people write them. @param {Pick<AnyNode, "settings">} node */
export const acksOf = ({ settings }) => (settings?.acks === "-1" ? "all" : settings?.acks);

/**
 * The role of the replica in its partition: leader, isr, outisr or offline.
 * @param {View} view
 * @param {Pick<Replica, "partition" | "broker_id">} replica
 */
export const replicaRole = (view, { partition, broker_id }) =>
  partition in view.partitions ? roleOf(view, partition, broker_id) : "offline";

/** The last batches of a replica's log, ascending. @param {Replica} replica */
export const tailOf = (replica) => Object.entries(replica.tail)
  .map(([first, [last, epoch, segment, position, size]]) => ({ first: Number(first), last, epoch, segment, position, size }))
  .sort((a, b) => a.first - b.first);

export const GLYPH = { leader: "★", isr: "●", outisr: "◐", offline: "✕" };

/**
 * A line in which a long name such as COORDINATOR_LOAD_IN_PROGRESS or min.insync.replicas breaks between its words, not inside one.
 * @param {string} line
 * @returns {(string | TemplateResult)[]}
 */
export const breakable = (line) => line.split(/(?<=[A-Z]_)(?=[A-Z])|(?<=[a-z]\.)(?=[a-z])|(?<=[a-z])(?=[A-Z][a-z])/)
  .flatMap((part, place) => (place ? [html`<wbr>`, part] : [part]));

const KEY = /^[(（]`+ ?(.+?) ?`+[)）]$/;
const INLINE = new RegExp(`(${KEY_OF_A_CONTROL.source}|${/`` .+? ``|`[^`]+`|\*\*(?:[^*]|\*(?!\*))+\*\*|\*[^*]+\*/.source})`);

/**
 * `code`, **bold** and *emphasis* of a line; the others may be inside bold. Code that is a backtick is written `` ` ``. A key in
 * parentheses is shown with the symbol of its control, and on a phone, which has no keys, as that symbol only.
 * @param {string} text
 * @returns {(string | TemplateResult)[]}
 */
export function inline(text) {
  return text.split(INLINE).map((part) => {
    const key = KEY.exec(part)?.[1];
    if (key) return html`<span class="key">${part[0]}${icon(CONTROLS[key])}<kbd>${key}</kbd>${part.at(-1)}</span>`;
    if (part.startsWith("`` ")) return html`<code>${part.slice(3, -3)}</code>`;
    if (part.startsWith("`")) return html`<code>${breakable(part.slice(1, -1))}</code>`;
    if (part.startsWith("**")) return html`<b>${inline(part.slice(2, -2))}</b>`;
    if (part.startsWith("*") && part.length > 2) return html`<em>${part.slice(1, -1)}</em>`;
    return part;
  });
}

/** A text in which characters that turn the direction of what follows are written as escapes. @param {string} text */
const upright = (text) => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
  (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A line of the console in which no option breaks after its hyphens. @param {string} line */
export const typed = (line) => upright(line).split(/(\s+)/)
  .map((word) => (word.startsWith("-") ? html`<span class="option">${word}</span>` : word));

/** A part of a line that is to be filled in before the line can run: `broker-2/archive-0/<first-offset>.index`. */
export const BLANK = /<[^<>\s]+>/;

/** A line of code: with `runs` a button, because the console runs it. @param {string} line @param {boolean} runs */
const codeLine = (line, runs) => (runs
  ? html`<button type="button" class="code-line" data-takes="act" title=${
    t(BLANK.test(line) ? "exercise.fill_line" : "exercise.run_line")}>${typed(line)}</button>`
  : html`<span class="code-line">${typed(line)}</span>`);

/** @param {string} text @param {boolean} runs @returns {TemplateResult} */
function block(text, runs) {
  const lines = text.split("\n");
  /** @param {RegExp} pattern */
  const items = (pattern) => lines.map((line) => html`<li>${inline(line.replace(pattern, ""))}</li>`);
  if (text.startsWith("```")) {
    const code = lines.filter((line) => !line.startsWith("```"));
    return html`<pre class="mono">${code.map((line) => codeLine(line, runs))}</pre>`;
  }
  if (text.startsWith("#")) return html`<h3>${inline(text.replace(/^#+\s*/, ""))}</h3>`;
  if (lines.every((line) => /^[-*] /.test(line))) return html`<ul>${items(/^[-*] /)}</ul>`;
  if (lines.every((line) => /^\d+\. /.test(line))) return html`<ol>${items(/^\d+\. /)}</ol>`;
  return html`<p>${inline(lines.join(" "))}</p>`;
}

/**
 * Small Markdown: paragraphs, headings, lists, fenced code, `code`, **bold**, *emphasis*. Never HTML.
 * @param {string | null | undefined} text
 * @param {{ runs?: boolean }} [more] `runs`: lines of code are commands, and buttons
 */
export const markdown = (text, { runs = false } = {}) => (text ?? "").trim().split(/\n{2,}/).map((part) => block(part.trim(), runs));
