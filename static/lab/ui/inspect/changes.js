// What the last step changed, with the values from before; and why a value is what it is.
import { differing, isMeaningful } from "../../core/view/differences.js";
import { keysOf } from "../../core/view/patch.js";
import { HwElement, html, icon } from "../kit/element.js";
import { brief, bytes, instant, set } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { why } from "../store/changes.js";
import { moment, player } from "../store/state.js";
import { seekSeq } from "../store/time.js";
import { section } from "../parts/common.js";
import { labelled, pathWords, sentence } from "../kit/words.js";

/** @import { AnyEvent, Patch } from "../../core/events/events.d.ts" */
/** @import { AppliedEvent } from "../../core/player/picture.js" */

/** @typedef {ReadonlyMap<string, unknown>} Values by pointer */

const MAX_LISTED = 12;
const BROKERS = /isr|replicas|live_brokers/;
const MAX_ROWS = 12;
/** Characters of a value in a row. */
const WIDEST = 26;
/** Above this rate, single events are too fast to be read. */
const READABLE_RATE = 0.02;
/** Parts of the view whose changes an event's sentence already contains. */
const SAID = new Set(["rpcs", "parked", "console"]);

/** The label of a message, or what a request waits for. @param {{ label?: string, needs?: string }} part */
const worded = ({ label, needs }) => (label ?? needs) && labelled(label ?? needs);

/**
 * A value as a text; a set of brokers as a set, a whole object by its name.
 * @param {unknown} value
 * @param {string} field
 * @returns {string}
 */
function gist(value, field) {
  if (Array.isArray(value) && BROKERS.test(field)) return set(value);
  if (Array.isArray(value) && field.startsWith("segments.")) return bytes(value[0]);
  if (Array.isArray(value) && value.some((one) => one !== null && typeof one === "object")) return t("changes.items", { n: value.length });
  if (value === null || typeof value !== "object" || Array.isArray(value)) return brief(value, Infinity);
  const part = /** @type {Record<string, unknown>} */ (value);
  return brief(part.log_end_offset ?? worded(part) ?? part.line ?? part.state ?? part.data ?? t("changes.new"), Infinity);
}

class HwWhy extends HwElement {
  render() {
    const asked = why.value;
    if (!asked) return html``;
    const [whose, field] = pathWords(asked.pointer);
    const close = html`<button class="ghost" aria-label=${t("message.close")} @click=${() => (why.value = null)}>${icon("close")}</button>`;
    /** @param {AnyEvent} one @param {number} place */
    const event = (one, place) => html`<li>
      <button class="ev" @click=${() => seekSeq(one.seq)} title=${t("changes.go")}>
        <span class="mono dim">${instant(one.at_us)}</span>
        ${place ? html`<span class="dim">${t("why.because")}</span>` : ""} ${sentence(one)}</button></li>`;
    const answer = asked.chain?.length
      ? html`<ol class="chain">${asked.chain.map(event)}</ol>`
      : html`<p class="dim">${t(asked.chain ? "why.unknown" : "why.searching")}</p>`;
    return html`<section class="sec why">
      <h3>${t("why.heading", { field: field || whose })}<span>${close}</span></h3><div class="dim">${whose}</div>${answer}
    </section>`;
  }
}
customElements.define("hw-why", HwWhy);

/** The label of a message that has been removed. @param {Patch} previous */
const labelOf = (previous) => {
  const rpcs = previous.filter(([pointer]) => pointer.startsWith("/rpcs/"));
  const labels = rpcs.map(([, value]) => /** @type {{ label?: string } | null | undefined} */ (value)?.label);
  const label = labels.find(Boolean);
  return label ? html` <span class="dim">· ${labelled(label)}</span>` : "";
};

class HwChanges extends HwElement {
  /** A row for each field that differs. @param {Patch[number]} change @param {Values} previous */
  rows([pointer, ...rest], previous) {
    const [whose, field] = pathWords(pointer);
    const before = previous.get(pointer);
    /** @param {unknown} value */
    const read = (value) => gist(value, field);
    /** @type {[string, unknown, unknown][]} */
    const changed = !rest.length ? [["", read(before), t("changes.gone")]]
      : before === undefined ? [["", undefined, read(rest[0])]] : differing(before, rest[0], read, WIDEST);
    return changed.map(([part, old, now]) => {
      const name = [field, part].filter(Boolean).join(" ");
      /** A part of a value, such as a field of a znode, is shown as it is. @param {any} value */
      const shown = (value) => brief(part && value && typeof value === "object" ? JSON.stringify(value) : gist(value, name), WIDEST);
      const was = old === undefined ? "" : html`<span class="dim">${shown(old)} → </span>`;
      return html`<tr><td class="word">${whose}<span class="dim"> ${name}</span></td>
        <td>${was}<b>${shown(now ?? "–")}</b></td></tr>`;
    });
  }

  /** @param {AppliedEvent} event */
  event(event) {
    const { seq, patch, previous } = event;
    return html`<div class="change">
      <button class="ev" title=${t("changes.go")} @click=${() => seekSeq(seq)}>
        <span class="mono dim">${seq}</span> ${sentence(event)}${labelOf(previous)}</button>
      ${this.table(patch, new Map(previous.map(([pointer, ...rest]) => [pointer, rest[0]])))}
    </div>`;
  }

  /** @param {Patch} patch @param {Values} previous */
  table(patch, previous) {
    const telling = patch.filter(([pointer, ...rest]) => {
      const keys = keysOf(pointer);
      return !SAID.has(keys[0]) && !["tail", "zk_last"].includes(keys[2]) && isMeaningful(pointer, previous.get(pointer), rest[0]);
    });
    if (!telling.length) return "";
    return html`<table><tbody>${telling.flatMap((change) => this.rows(change, previous)).slice(0, MAX_ROWS)}</tbody></table>`;
  }

  render() {
    const { mode, rate, seq } = moment.value;
    const step = seq ? player.lastEvents : [];
    const events = step.slice(-MAX_LISTED);
    const last = events.at(-1);
    if (!last) return html``;
    if (mode !== "pause" && rate > READABLE_RATE) return html``;
    if (mode !== "pause") return section(t("changes.last"), "", html`<p>${sentence(last)}</p>`);
    const title = step.length === 1 ? t("changes.event") : t("changes.step", { n: step.length });
    return html`<section class="sec changes"><h3>${title}</h3>${events.map((event) => this.event(event))}</section>`;
  }
}
customElements.define("hw-changes", HwChanges);
