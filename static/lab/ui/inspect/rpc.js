// The inspector's card of a message: its position, its contents, and its effect on delivery.
import { familyOf } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { html, icon } from "../kit/element.js";
import { brief, instant } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { leaderView } from "./replicas.js";
import { actions, facts, link, nothing, section, unlessMasked } from "../parts/common.js";
import { bar, findRpc, parkedRow, pill, progress } from "./rpc_lists.js";
import { isAlone } from "../store/api.js";
import { patchOf } from "../store/changes.js";
import { masked, nodeTarget, player } from "../store/state.js";
import { labelled, pathWords, term } from "../kit/words.js";

/** @import { Patch } from "../../core/events/events.d.ts" */
/** @import { Rpc, View } from "../../core/view/view.d.ts" */
/** @import { Fact } from "../parts/common.js" */
/** @import { RpcEnd } from "./rpc_lists.js" */

const MAX_AHEAD = 4000;
const MAX_CHANGES = 10;
const WIDE = 12;

/**
 * Changes of the view that a message's arrival leads to, from the recording: null when it has not happened yet.
 * @param {string} id
 * @returns {Patch | null}
 */
function effectsOf(id) {
  const causes = new Set();
  /** @type {Patch} */
  const changes = [];
  let arrival = 0;
  for (let seq = player.seq + 1; seq <= Math.min(player.live_seq, player.seq + MAX_AHEAD); seq++) {
    const event = player.event(seq);
    if (!event || (arrival && event.at_us > arrival)) break;
    const arrives = event.kind === "RpcDelivered" && event.data.rpc === id;
    if (!arrives && !causes.has(event.cause)) continue;
    causes.add(seq);
    if (arrives) arrival = event.at_us;
    else changes.push(...patchOf(seq).filter(([pointer]) => !pointer.startsWith("/rpcs/")));
  }
  return arrival ? changes : null;
}

/** @param {Patch[number]} change */
function effect([pointer, now]) {
  const [whose, field] = pathWords(pointer);
  const value = html`<b class="mono">${now === undefined ? t("changes.gone") : brief(now, 20)}</b>`;
  return html`<li><span>${whose} <span class="dim">${field}</span></span>${unlessMasked(value)}</li>`;
}

/** @param {string} id */
function arrivalSection(id) {
  const changes = effectsOf(id);
  const hidden = html`${icon("eye")} ${t("changes.hidden")}`;
  const title = t("rpc.when_it_arrives");
  if (!changes) return section(title, masked.value ? hidden : "", html`<p class="dim">${t("rpc.not_yet")}</p>`);
  const body = changes.length
    ? html`<ol class="eff">${changes.slice(0, MAX_CHANGES).map(effect)}</ol>`
    : html`<p class="dim">${t("rpc.changes_nothing")}</p>`;
  return section(title, masked.value ? hidden : t("rpc.recorded"), body);
}

/** One line about the position of a message. `end`: the event that ended it, or null.
 * @param {Rpc} rpc
 * @param {RpcEnd | null} end
 * @param {number} at_us
 */
function whereabouts(rpc, end, at_us) {
  if (end) return t(end.kind === "RpcDropped" ? "rpc.dropped" : "rpc.arrived", { at: instant(end.at_us) });
  if (rpc.held) return term(rpc.held);
  return rpc.due_us > at_us ? t("rpc.in", { time: durationText(rpc.due_us - at_us) }) : t("rpc.now");
}

/** A field of a message: its name and its value. @param {Rpc["fields"][number]} field @returns {Fact} */
function field([name, value]) {
  const [title, what] = [labelled(name), typeof value === "string" ? labelled(value) : value];
  return [title, brief(what, 40), String(what).length > WIDE || title.length > WIDE];
}

/** @param {View} view @param {string} id @param {number} at_us */
export function messageCard(view, id, at_us) {
  const found = findRpc(view, id);
  if (!found) return nothing(t("inspect.gone", { what: id }));
  const { rpc, end } = found;
  const parked = view.parked[id];
  const about = /^(\S+-\d+)/.exec(rpc.fields[0]?.[0] ?? "")?.[1] ?? "";
  return html`<section class="sec">
      <div class="row tight">
        ${pill(rpc, `${rpc.api} ${t(`rpc.${rpc.kind}`)}`)}<span class="mono dim">#${rpc.correlation}</span><span class="spacer"></span>
        <span>${link(nodeTarget(rpc.source), rpc.source)} → ${link(nodeTarget(rpc.destination), rpc.destination)}</span>
      </div>
      ${bar(end ? 1 : progress(rpc, at_us), familyOf(rpc.api, rpc.kind))}
      <div class="times mono">
        <span>${t("rpc.sent", { at: (rpc.sent_us / 1e6).toFixed(4) })}</span>
        <b class=${rpc.held ? "bad" : ""}>${whereabouts(rpc, end, at_us)}</b>
        <span>${(rpc.due_us / 1e6).toFixed(4)}</span>
      </div>
      ${end ? "" : actions(view, `rpc:${id}`)}
      ${facts(rpc.fields.map(field))}
    </section>
    ${parked ? section(t("purgatory.parked"), "", html`<ul class="list flat">${parkedRow(parked, id, at_us)}</ul>`) : ""}
    ${end ? "" : arrivalSection(id)}
    ${rpc.kind === "watch" || isAlone ? "" : section(t("bytes.title"), "", html`<hw-message-bytes rpc=${id}></hw-message-bytes>`)}
    ${about in view.partitions ? leaderView(view, about, at_us) : ""}`;
}
