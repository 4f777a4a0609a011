// What the last step changed, with the values from before; and why a value is what it is.
import { contrast, isTelling } from "../../core/view/differences.js";
import { keysOf } from "../../core/view/patch.js";
import { HwElement, html, icon } from "../kit/element.js";
import { brief, bytes, instant, set } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { moment, player, signal } from "../store/state.js";
import { section } from "../parts/common.js";
import { patchOf } from "./rpc_lists.js";
import { seekSeq } from "../shell/transport.js";
import { labelled, pathWords, sentence } from "../kit/words.js";

const SHOWN_MOST = 40;
const LISTED_MOST = 12;
const BROKERS = /isr|replicas|live_brokers/;
const ROWS_MOST = 12;
/** Characters of a value in a row. */
const WIDEST = 26;
/** Faster than this nobody can read one event after the other. */
const READABLE_RATE = 0.02;
/** Parts of the view whose changes an event's sentence says already. */
const SAID = new Set(["rpcs", "parked", "console"]);
const SEARCHED_MOST = 20000;
const CHAIN_MOST = 6;
const LOAD_TRIES = 40;

/** The question that is answered in the inspector: {pointer, chain: null while searching | events, newest first}. */
export const why = signal(null);

/** Values from before the last step, by pointer. Only while paused: else they change too often to be read. */
export function previousValues() {
  const values = new Map();
  if (moment.value.mode !== "pause") return values;
  for (const { patch, previous } of player.lastEvents.slice(-SHOWN_MOST)) {
    const before = new Map(previous.map(([pointer, ...rest]) => [pointer, rest[0]]));
    for (const [pointer] of patch) if (!values.has(pointer)) values.set(pointer, before.get(pointer));
  }
  return values;
}

/** What stands on a message, or what a request waits for. */
const worded = ({ label, needs }) => (label ?? needs) && labelled(label ?? needs);

/** A value as a text; a set of brokers as a set, a whole object by what it is called. */
function gist(value, field) {
  if (Array.isArray(value) && BROKERS.test(field)) return set(value);
  if (Array.isArray(value) && field.startsWith("segments.")) return bytes(value[0]);
  if (value === null || typeof value !== "object" || Array.isArray(value)) return brief(value, Infinity);
  return brief(value.log_end_offset ?? worded(value) ?? value.line ?? value.state ?? value.data ?? t("changes.new"), Infinity);
}

const covers = (written, pointer) => pointer === written || pointer.startsWith(`${written}/`);

/** An event by number; fetched when it is not here. */
export async function eventAt(seq) {
  for (let tries = 0; tries < LOAD_TRIES; tries++) {
    const event = player.event(seq);
    if (event) return event;
    const later = player.event(seq + 1);
    if (!later) return null;
    player.want(Math.max(0, later.at_us - 1));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

/** Looks for the event that last wrote a path, and walks back along its causes. */
export async function askWhy(pointer) {
  why.value = { pointer, chain: null };
  let found = null;
  for (let seq = player.seq; seq > 0 && seq > player.seq - SEARCHED_MOST && !found; seq--) {
    const event = await eventAt(seq);
    if (!event) break;
    if (patchOf(seq).some(([written]) => covers(written, pointer) || covers(pointer, written))) found = event;
  }
  const chain = [];
  for (let event = found; event && chain.length < CHAIN_MOST; event = event.cause > 0 ? await eventAt(event.cause) : null) chain.push(event);
  if (why.value?.pointer === pointer) why.value = { pointer, chain };
}

/** A value of the view that can be asked about: bold with "was" when the last step changed it. */
export function value(pointer, text, previous) {
  const before = previous?.get(pointer);
  const was = before === undefined ? "" : html` <span class="was">${t("changes.was", { value: brief(before, 16) })}</span>`;
  return html`<button class="val ${previous?.has(pointer) ? "changed" : ""}" title=${t("why.title")}
    @click=${() => askWhy(pointer)}>${text}</button>${was}`;
}

class HwWhy extends HwElement {
  render() {
    const asked = why.value;
    if (!asked) return html``;
    const [whose, field] = pathWords(asked.pointer);
    const close = html`<button class="ghost" aria-label=${t("message.close")} @click=${() => (why.value = null)}>${icon("close")}</button>`;
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

/** What a message that is gone was called. */
const labelOf = (previous) => {
  const gone = previous.find(([pointer, value]) => pointer.startsWith("/rpcs/") && value?.label);
  return gone ? html` <span class="dim">· ${labelled(gone[1].label)}</span>` : "";
};

class HwChanges extends HwElement {
  row([pointer, ...rest], previous) {
    const [whose, field] = pathWords(pointer);
    const before = previous.get(pointer);
    const read = (value) => gist(value, field);
    const [old, now] = rest.length ? contrast(before, rest[0], read, WIDEST) : [read(before), t("changes.gone")];
    const was = before === undefined ? "" : html`<span class="dim">${brief(old, WIDEST)} → </span>`;
    return html`<tr><td class="word">${whose}<span class="dim"> ${field}</span></td><td>${was}<b>${brief(now, WIDEST)}</b></td></tr>`;
  }

  event(event) {
    const { seq, patch, previous } = event;
    return html`<div class="change">
      <button class="ev" title=${t("changes.go")} @click=${() => seekSeq(seq)}>
        <span class="mono dim">${seq}</span> ${sentence(event)}${labelOf(previous)}</button>
      ${this.table(patch, new Map(previous.map(([pointer, ...rest]) => [pointer, rest[0]])))}
    </div>`;
  }

  table(patch, previous) {
    const telling = patch.filter(([pointer, ...rest]) => {
      const keys = keysOf(pointer);
      return !SAID.has(keys[0]) && keys[2] !== "tail" && isTelling(pointer, previous.get(pointer), rest[0]);
    });
    if (!telling.length) return "";
    return html`<table><tbody>${telling.slice(0, ROWS_MOST).map((change) => this.row(change, previous))}</tbody></table>`;
  }

  render() {
    const { mode, rate, seq } = moment.value;
    const step = seq ? player.lastEvents : [];
    const events = step.slice(-LISTED_MOST);
    if (!events.length) return html``;
    if (mode !== "pause" && rate > READABLE_RATE) return html``;
    if (mode !== "pause") return section(t("changes.last"), "", html`<p>${sentence(events.at(-1))}</p>`);
    const title = step.length === 1 ? t("changes.event") : t("changes.step", { n: step.length });
    return html`<section class="sec changes"><h3>${title}</h3>${events.map((event) => this.event(event))}</section>`;
  }
}
customElements.define("hw-changes", HwChanges);
