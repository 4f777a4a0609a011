// The inspector's cards of nodes (brokers, clients, ZooKeeper) and of the links between them.
import { ephemerals, faultsOfLink, parkedAt } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { html } from "../kit/element.js";
import { brief, set, wall } from "../kit/format.js";
import { language, t } from "../kit/i18n.js";
import { replicaTable } from "./replicas.js";
import { actions, facts, link, nothing, section, table, value } from "../parts/common.js";
import { previousValues } from "../store/changes.js";
import { parkedRow, pill } from "./rpc_lists.js";
import { nodeTarget, select } from "../store/state.js";
import { acksOf, escapeKey, nodeName, term } from "../kit/words.js";

/** @import { AnyNode, ConsumerNode, Rpc, View } from "../../core/view/view.d.ts" */
/** @import { Fact, Falsy } from "../parts/common.js" */

/** @typedef {(field: string, shown?: unknown) => unknown} Ask shows a field of the node as a value that can be asked about */

/** The facts of each kind of node. @type {{ [Node in AnyNode as Node["kind"]]: (it: Node, ask: Ask, view: View) => (Fact | Falsy)[] }} */
const FACTS = {
  broker: (it, ask, view) => {
    const leads = view.controller.broker === it.broker_id;
    return [
      [t("node.id"), it.broker_id],
      [t("node.epoch"), ask("broker_epoch")],
      [t("node.session"), it.session ?? "—"],
      [t("node.controller_word"), leads ? t("node.yes_epoch", { n: view.controller.controller_epoch }) : t("node.no")],
      [t("node.knows"), ask("live_brokers", set(it.live_brokers)), true],
      it.failure && [t("node.failure"), ask("failure", `${it.failure.file}: ${term(it.failure.rule)}`), true],
    ];
  },
  producer: (it, ask) => [
    [t("produce.partition"), it.partition || "—"],
    ["acks", acksOf(it)],
    [t("produce.sent"), ask("sent")],
    [t("produce.acked"), ask("acknowledged")],
    [t("produce.failed"), ask("failed")],
    [t("produce.retried"), ask("retried")],
    [t("produce.last_offset"), ask("last_offset")],
    [t("produce.latency"), durationText(it.last_latency_us)],
    it.last_error && [t("produce.error"), it.last_error, true],
  ],
  consumer: (it, ask) => [
    [t("produce.partition"), it.partition],
    [t("consume.position"), ask("position")],
    [t("term.hw"), ask("high_watermark")],
    [t("consume.lag_word"), it.high_watermark - it.position],
    it.last_reset && [t("consume.reset"), term(it.last_reset), true],
    ...Object.entries(it.read_replicas ?? {}).map(([partition, node]) => /** @type {Fact} */ ([
      t("consume.read_replica", { partition }), link(`broker:${node}`, nodeName(node))])),
    ...pipelineFacts(it),
  ],
  zookeeper: (it, ask, view) => [
    [t("node.znodes"), Object.keys(view.zk).length],
    [t("node.ephemerals"), ephemerals(view)],
  ],
  client: ({ settings }) => [
    [t("client.of_broker"), link(`broker:${settings.broker}`, nodeName(settings.broker))],
    [t("client.host"), settings.host],
    settings["client.id"] && ["client.id", settings["client.id"]],
    settings.software && [t("client.software"), settings.software],
  ],
  shell: () => [],
};

/** What the application of a pipeline does. @param {ConsumerNode} it @returns {(Fact | Falsy)[]} */
function pipelineFacts({ pipeline: now, settings }) {
  return now ? [
    [t("pipeline.topics"), settings.pipeline],
    [t("pipeline.order"), settings.order],
    [t("pipeline.stage"), term(now.state)],
    [t("pipeline.in_hand"), now.in_hand],
    [t("pipeline.handled"), now.handled],
    [t("pipeline.rewinds"), now.rewinds],
    now.why && [t("pipeline.why"), term(now.why), true],
  ] : [];
}

/** @param {View} view @param {ConsumerNode} it */
function recordsRead(view, it) {
  const leader = `b${view.partitions[it.partition]?.leader}`;
  const rows = it.records.toReversed().map(([offset, time, key, what]) => [
    link(`record:${it.partition}@${leader}:${offset}`, offset),
    key ?? "null",
    what === null ? "null" : brief(what, 24),
    wall(time, language),
  ]);
  const titles = [t("record.offset"), t("produce.key"), t("produce.value"), t("record.time")];
  return section(t("consume.read"), "", table(titles, rows, { words: [1, 2] }));
}

/** @param {[string, View["checkpoints"][string][string]]} entry @param {number} at_us */
const checkpoint = ([file, { at_us: written, entries }], at_us) => html`
  <p class="mono">${file} <span class="dim">${t("node.ago", { time: durationText(at_us - written) })}</span></p>
  <p class="mono chips">${entries.map(([partition, offset]) => html`<span class="tag">${partition} ${offset}</span>`)}</p>`;

/** @param {AnyNode} it @param {Ask} ask @param {View} view */
function factsOf(it, ask, view) {
  const of = /** @type {(it: AnyNode, ask: Ask, view: View) => (Fact | Falsy)[]} */ (FACTS[it.kind]);
  /** @type {Fact[]} */
  const asked = it.kind === "zookeeper" || it.kind === "shell" ? [] : [[t("node.zk_requests"), ask("zk_requests")]];
  return [...of(it, ask, view), ...asked];
}

/** @param {View} view @param {string} name @param {number} at_us */
export function nodeCard(view, name, at_us) {
  const it = view.nodes[name];
  if (!it) return nothing(t("inspect.gone", { what: name }));
  const previous = previousValues();
  const fields = /** @type {Record<string, unknown>} */ ({ ...it });
  /** @type {Ask} */
  const ask = (field, shown = fields[field]) => value(`/nodes/${escapeKey(name)}/${field}`, shown, previous);
  const parked = parkedAt(view, name);
  const replicas = Object.keys(view.replicas).filter((id) => view.replicas[id].node === name);
  const checkpoints = Object.entries(view.checkpoints[name] ?? {});
  const settings = Object.entries(it.settings ?? {});
  return html`<section class="sec">
      <div class="row tight">
        <b>${nodeName(name)}</b><span class="state ${it.state}">${t(`node.${it.state}`)}</span>
        <span class="dim">${t("node.since", { time: durationText(at_us - it.since_us) })}</span>
      </div>
      ${facts(factsOf(it, ask, view))}
      ${actions(view, nodeTarget(name))}
    </section>
    ${replicas.length ? section(t("node.replicas"), replicas.length, replicaTable(view, replicas, "partition")) : ""}
    ${it.kind === "consumer" && it.records.length ? recordsRead(view, it) : ""}
    ${parked.length ? section(t("purgatory.title"), t("purgatory.waiting", { n: parked.length }), html`<ul class="list flat">
      ${parked.map(({ id, parked: one }) => parkedRow(one, id, at_us))}</ul>`) : ""}
    ${checkpoints.length ? section(t("node.checkpoints"), "", checkpoints.map((entry) => checkpoint(entry, at_us))) : ""}
    ${settings.length ? section(t("node.settings"), "", facts(settings.map(([key, what]) => [key, what, true]))) : ""}`;
}

/** @param {View} view @param {string} key @param {number} at_us */
export function linkCard(view, key, at_us) {
  const [a, b] = key.split("|");
  const cut = view.links[key];
  const faults = faultsOfLink(view, key);
  const under = Object.entries(view.rpcs).filter(([, rpc]) => [rpc.source, rpc.destination].sort().join("|") === key);
  /** @param {[string, Rpc]} entry */
  const row = ([id, rpc]) => html`<li><button class="rpc" @click=${() => select(`rpc:${id}`)}>
    <span class="row tight">${pill(rpc)}<span class="spacer"></span>${rpc.source} → ${rpc.destination}</span></button></li>`;
  return html`<section class="sec">
      <div class="row tight"><b>${nodeName(a)} – ${nodeName(b)}</b><span class="spacer"></span>
        ${cut
          ? html`<span class="tag bad">✕ ${cut.from ? t("link.one_way", { from: cut.from, time: durationText(at_us - cut.since_us) })
            : t("link.cut", { time: durationText(at_us - cut.since_us) })}</span>`
          : faults.length ? "" : html`<span class="tag ok">${t("link.works")}</span>`}
      </div>
      ${faults.map(({ from, to, latency_us, loss_percent, reorder_percent }) =>
        facts([[`${from} → ${to}`, t("link.fault", { time: durationText(latency_us), loss: loss_percent, reorder: reorder_percent }),
          true]]))}
      ${actions(view, `link:${key}`)}
    </section>
    ${section(t("link.under_way"), under.length, html`<ul class="list flat">${under.map(row)}</ul>`)}`;
}
