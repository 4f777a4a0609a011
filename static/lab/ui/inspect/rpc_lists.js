// Messages in flight and requests that wait, as lists; and what is known of one message.
import { byName, familyOf } from "../../core/view/selectors.js";
import { requestsLabel } from "../../core/recording/history.js";
import { durationText } from "../../core/player/timemap.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { zkMessages } from "../store/keys.js";
import { moment, nodeTarget, player, select, selection } from "../store/state.js";
import { labelled, nodeName, term } from "../kit/words.js";

/** @import { EventOf } from "../../core/events/events.d.ts" */
/** @import { Parked, Rpc, View } from "../../core/view/view.d.ts" */

/** @typedef {EventOf<"RpcDelivered"> | EventOf<"RpcDropped">} RpcEnd */

const MAX_BACK = 4000;

/** How far on its way a message is, 0 to 1. @param {Pick<Rpc, "sent_us" | "due_us">} rpc @param {number} at_us */
export const progress = ({ sent_us, due_us }, at_us) => Math.min(1, Math.max(0, (at_us - sent_us) / Math.max(1, due_us - sent_us)));

/**
 * A bar; `part` is 0 to 1. The width is set as a property: the policy forbids style attributes.
 * @param {number} part
 * @param {string} family
 */
export const bar = (part, family) => html`<span class="track"><i class=${family}
  .style=${`width: ${(part * 100).toFixed(1)}%`}></i></span>`;

/**
 * A message by its id, also one that is not in flight at this instant.
 * @param {View} view
 * @param {string} id
 * @returns {{ rpc: Rpc, end: RpcEnd | null } | null} `end`: the event that ended it, if it is known and has happened
 */
export function findRpc(view, id) {
  if (view.rpcs[id]) return { rpc: view.rpcs[id], end: null };
  /** @type {RpcEnd | null} */
  let end = null;
  for (let seq = player.seq; seq > Math.max(0, player.seq - MAX_BACK); seq--) {
    const event = player.event(seq);
    if (!event) break;
    if (!("rpc" in event.data) || event.data.rpc !== id) continue;
    if (event.kind === "RpcSent") {
      const rpc = { ...event.data, sent_us: event.at_us, held: "" };
      return { rpc: /** @type {Rpc} */ (rpc), end };
    }
    if (event.kind === "RpcDelivered" || event.kind === "RpcDropped") end = event;
  }
  return null;
}

/**
 * A message as a pill: filled = request, outlined = response.
 * @param {Pick<Rpc, "api" | "kind"> & { label?: string }} rpc
 * @param {string} [text]
 */
export const pill = (rpc, text) => html`<span class="pill ${familyOf(rpc.api, rpc.kind)} ${rpc.kind}">${text
  ?? labelled(rpc.label)}</span>`;

class HwRpcs extends HwElement {
  /** @param {[string, Rpc]} entry @param {number} at_us */
  row([id, rpc], at_us) {
    const left = rpc.due_us - at_us;
    const when = left > 0 ? t("rpc.in", { time: durationText(left) }) : t("rpc.now");
    return html`<li><button class="rpc ${selection.value === `rpc:${id}` ? "on" : ""}" @click=${() => select(`rpc:${id}`)}>
      <span class="row tight">${pill(rpc)}<span class="spacer"></span><b>${rpc.source}</b> → <b>${rpc.destination}</b></span>
      <span class="row tight">${bar(progress(rpc, at_us), familyOf(rpc.api, rpc.kind))}
        <span class="mono dim">${rpc.held ? html`<span class="bad">${term(rpc.held)}</span>` : when}</span></span>
    </button></li>`;
  }

  render() {
    const { view, at_us } = moment.value;
    const rpcs = Object.entries(view.rpcs).sort(([, a], [, b]) => a.due_us - b.due_us);
    return html`<section class="sec"><label class="row tight"><input type="checkbox" .checked=${zkMessages.value}
        @change=${() => (zkMessages.value = !zkMessages.value)}>${t("rpc.zookeeper")}</label></section>
      ${zkMessages.value ? this.asked(view, at_us) : ""}
      ${rpcs.length ? html`<ul class="list">${repeat(rpcs.slice(0, 200), ([id]) => id, (entry) => this.row(entry, at_us))}</ul>`
        : html`<p class="empty-note">${t("empty.rpcs")}</p>`}`;
  }

  /** What each node asked ZooKeeper last, and how often it has. @param {View} view @param {number} at_us */
  asked(view, at_us) {
    const nodes = Object.entries(view.nodes).filter(([, { kind }]) => kind !== "zookeeper" && kind !== "shell")
      .sort(([a], [b]) => byName(a, b));
    return html`<ul class="list">${nodes.map(([name, { zk_requests, zk_last }]) => html`<li><button class="rpc"
      @click=${() => select(nodeTarget(name))}>
      <span class="row tight"><b>${name}</b> → <b>zk</b><span class="spacer"></span><span class="dim">${t("rpc.asked",
        { n: zk_requests })}</span></span>
      ${zk_last ? html`<span class="row tight"><span class="pill zk request">${requestsLabel(zk_last.count, zk_last.requests)}</span>
        <span class="spacer"></span><span class="mono dim">${t("node.ago", { time: durationText(at_us - zk_last.at_us) })}</span></span>`
        : ""}
    </button></li>`)}</ul>`;
  }
}
customElements.define("hw-rpcs", HwRpcs);

/** The first of many names, and how many more there are. @param {string[]} names */
const few = ([first = "", ...rest]) => (rest.length > 1 ? t("purgatory.and_more", { first, n: rest.length }) : [first, ...rest].join(", "));

/**
 * One waiting request: what it waits for, and how much of its time is left.
 * @param {Parked} parked
 * @param {string} id
 * @param {number} at_us
 */
export function parkedRow(parked, id, at_us) {
  const part = (at_us - parked.since_us) / Math.max(1, parked.deadline_us - parked.since_us);
  return html`<li><button class="rpc" @click=${() => select(`rpc:${id}`)}>
    <span class="row tight">${pill({ ...parked, kind: "request" }, parked.api)}<span class="mono dim">${parked.client}</span>
      <span class="spacer"></span><span class="mono part" title=${parked.partitions.join(", ")}>${few(parked.partitions)}</span></span>
    <span class="row tight"><span>${t("purgatory.needs")} <b class="mono">${labelled(parked.needs)}</b></span>
      ${bar(Math.min(1, part), familyOf(parked.api, "request"))}
      <span class="mono dim">${durationText(Math.max(0, parked.deadline_us - at_us))}</span></span>
  </button></li>`;
}

class HwPurgatory extends HwElement {
  render() {
    const { view, at_us } = moment.value;
    const brokers = Map.groupBy(Object.entries(view.parked), ([, parked]) => parked.broker);
    if (!brokers.size) return html`<p class="empty-note">${t("empty.purgatory")}</p>`;
    return [...brokers].sort(([a], [b]) => byName(a, b)).map(([broker, list]) => html`<section class="sec">
      <h3>${nodeName(broker)}<span>${t("purgatory.waiting", { n: list.length })}</span></h3>
      <ul class="list flat">${list.map(([id, parked]) => parkedRow(parked, id, at_us))}</ul>
    </section>`);
  }
}
customElements.define("hw-purgatory", HwPurgatory);
