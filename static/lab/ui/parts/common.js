// Pieces that several panels are built of.
import { act, isAlone, overlay } from "../store/api.js";
import { html, icon, svg } from "../kit/element.js";
import { brief } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { choicesFor } from "./menus.js";
import { explain } from "../store/changes.js";
import { masked, select } from "../store/state.js";
import { GLYPH } from "../kit/words.js";

/** @import { Role } from "../../core/view/selectors.js" */
/** @import { View } from "../../core/view/view.d.ts" */

/** @import { Overlay } from "../store/api.js" */

/**
 * @typedef {[name: unknown, value: unknown, wide?: unknown]} Fact
 * @typedef {false | null | undefined | "" | 0} Falsy
 */

/**
 * A titled part of a panel; `extra` is placed at the right of the title.
 * @param {unknown} title
 * @param {unknown} extra
 * @param {unknown} body
 */
export const section = (title, extra, body) =>
  html`<section class="sec"><h3>${title}<span>${extra}</span></h3>${body}</section>`;

/**
 * A button that opens the form of a client or an assignor: "producer", "member", "assignor". Nothing where there is no lab.
 * @param {Overlay["kind"]} kind
 * @param {string} [className]
 */
export const opener = (kind, className = "") => isAlone ? "" : html`<button type="button" class="btn small ${className}"
  data-takes="act" @click=${() => (overlay.value = { kind })}>
  ${icon("plus")}${t(`open.${kind}`)}</button>`;

/** Name-value pairs in two columns: [name, value, wide?]. Falsy pairs are left out. @param {(Fact | Falsy)[]} pairs */
export const facts = (pairs) => html`<dl class="kv">
  ${pairs.filter((pair) => !!pair).map(([name, value, wide]) => html`<dt>${name}</dt><dd class=${wide ? "wide" : ""}>${value}</dd>`)}
</dl>`;

/**
 * A table: titles, and rows of cells. A title or cell that begins with a word column is marked by `words`, its places.
 * @param {unknown[]} titles
 * @param {unknown[][]} rows
 * @param {{ words?: number[], name?: string }} [options]
 */
export const table = (titles, rows, { words = [], name = "" } = {}) => {
  /** @param {number} place */
  const kind = (place) => (words.includes(place) ? "word" : "");
  return html`<table class=${name}>
    <thead><tr>${titles.map((title, place) => html`<th class=${kind(place)}>${title}</th>`)}</tr></thead>
    <tbody>${rows.map((cells) => html`<tr>${cells.map((cell, place) => html`<td class=${kind(place)}>${cell}</td>`)}</tr>`)}</tbody>
  </table>`;
};

const ROUND = 2 * Math.PI * 9;

/** A ring that closes during a wait; `part` of it has passed, 0 to 1. @param {number} part @param {string} [className] */
export const ring = (part, className = "") =>
  html`${svg`<svg class="ring ${className}" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9"></circle>
  <circle class="gone" cx="12" cy="12" r="9" stroke-dasharray="${ROUND * part} ${ROUND}"></circle></svg>`}`;

/** A bar that is full to a part of it, 0 to 100. @param {number} percent @param {string} [className] */
export const fillBar = (percent, className = "fill") => svg`<svg class=${className} viewBox="0 0 100 1" preserveAspectRatio="none"
  aria-hidden="true">
  <rect width=${percent} height="1"></rect></svg>`;

/** What colours mean: [class of the swatch, words]. @param {[string, unknown][]} marks */
export const legend = (marks) => html`<p class="legend dim">${marks.map(([mark, words]) =>
  html`<span><i class="swatch ${mark}"></i>${words}</span>`)}</p>`;

/** A note in the place of missing content. @param {unknown} text */
export const nothing = (text) => html`<p class="empty-note">${text}</p>`;

/** A word that selects something. @param {string} what @param {unknown} text */
export const link = (what, text) => html`<button class="val" @click=${() => select(what)}>${text}</button>`;

/**
 * A value of the view that can be asked about: bold with "was" when the last step changed it.
 * @param {string} pointer
 * @param {unknown} text
 * @param {ReadonlyMap<string, unknown>} [previous]
 */
export function value(pointer, text, previous) {
  const before = previous?.get(pointer);
  const was = before === undefined ? "" : html` <span class="was">${t("changes.was", { value: brief(before, 16) })}</span>`;
  return html`<button class="val ${previous?.has(pointer) ? "changed" : ""}" title=${t("why.title")}
    @click=${() => explain(pointer)}>${text}</button>${was}`;
}

/**
 * A small button that sends a line of the shell; its tooltip is the line.
 * @param {unknown} label
 * @param {string} line
 * @param {string} [className]
 */
export const lineButton = (label, line, className = "") =>
  html`<button type="button" class="btn small ${className}" data-takes="act" title=${line}
    @click=${() => act(line)}>${label}</button>`;

/** What can be done to a thing, as buttons. @param {View} view @param {string} what */
export function actions(view, what) {
  const choices = choicesFor(view, what).slice(0, 6);
  if (!choices.length) return "";
  return html`<div class="row acts">${choices.map(({ label, line, harm }) => lineButton(label, line, harm ? "danger" : ""))}</div>`;
}

/** A role with its sign and word, both in its hue. @param {Role} role */
export const roleTag = (role) =>
  html`<span class="role ${role}"><span aria-hidden="true">${GLYPH[role]}</span> ${t(`role.${role}`)}</span>`;

/** A value that stays hidden as long as a prediction of it is open. @param {unknown} value */
export const unlessMasked = (value) => (masked.value ? html`<span class="mask"></span>` : value);
