// What the inspector says of the thing that is selected; its shape follows the kind of thing.
import { familyOf } from "../core/selectors.js";
import { durationText } from "../core/timemap.js";
import { act } from "./actions.js";
import { askWhy, previousValues, value } from "./changes.js";
import { HwElement, html, icon } from "./element.js";
import { brief, bytes, instant, set, spaced, wall } from "./format.js";
import { openFile } from "./files.js";
import { language, t } from "./i18n.js";
import { choicesFor } from "./menus.js";
import { bar, findRpc, parkedRow, pill, progress } from "./rpcs.js";
import { masked, moment, nodeTarget, partition, player, select, selection, split } from "./state.js";
import { nodeName, pathWords, replicaRole, roleTag, tailOf } from "./words.js";

const AHEAD_MOST = 4000;
const escape = (key) => key.replaceAll("~", "~0").replaceAll("/", "~1");

/** A list of name-value pairs in two columns. */
const facts = (pairs) => html`<dl class="kv">${pairs.filter(Boolean).map(([name, what, wide]) => html`<dt>${name}</dt><dd class=${wide ? "wide" : ""}>${what}</dd>`)}</dl>`;
const section = (title, extra, body) => html`<section class="sec"><h3>${title}<span>${extra}</span></h3>${body}</section>`;
const link = (what, text) => html`<button class="val" @click=${() => select(what)}>${text}</button>`;
const actions = (view, what) => {
  const list = choicesFor(view, what);
  return list.length ? html`<div class="row acts">${list.slice(0, 6).map(({ label, line, harm }) => html`<button class="btn small ${harm ? "danger" : ""}" title=${line} @click=${() => act(line)}>${label}</button>`)}</div>` : "";
};

// --- messages ----------------------------------------------------------------------------------------------------

/** Events that a message's arrival leads to, from the recording: null when it has not happened yet. */
function effectsOf(id) {
  let arrival = 0;
  const causes = new Set();
  const effects = [];
  for (let seq = player.seq + 1; seq <= Math.min(player.live_seq, player.seq + AHEAD_MOST); seq++) {
    const event = player.event(seq);
    if (!event) break;
    if (!arrival) {
      if (event.kind !== "RpcDelivered" || event.data.rpc !== id) continue;
      arrival = event.at_us;
      causes.add(seq);
    } else if (event.at_us > arrival) break;
    else if (causes.has(event.cause)) {
      causes.add(seq);
      effects.push({ event, patch: wirePatch(seq) });
    }
  }
  return arrival ? effects : null;
}

function wirePatch(seq) {
  const chunk = player.chunks().find(({ first_seq, events }) => events[seq - first_seq]);
  return chunk ? chunk.events[seq - chunk.first_seq][5] : [];
}

function arrival(id) {
  const effects = effectsOf(id);
  const hidden = html`${icon("eye")} ${t("changes.hidden")}`;
  if (!effects) return section(t("rpc.when_it_arrives"), masked.value ? hidden : "", html`<p class="dim">${t("rpc.not_yet")}</p>`);
  const rows = effects.flatMap(({ patch }) => patch.filter(([pointer]) => !pointer.startsWith("/rpcs/")));
  return section(t("rpc.when_it_arrives"), masked.value ? hidden : t("rpc.recorded"), rows.length ? html`<ol class="eff">${rows.slice(0, 10).map(([pointer, now]) => {
    const [whose, field] = pathWords(pointer);
    return html`<li><span>${whose} <span class="dim">${field}</span></span>${masked.value ? html`<span class="mask"></span>` : html`<b class="mono">${now === undefined ? t("changes.gone") : brief(now, 20)}</b>`}</li>`;
  })}</ol>` : html`<p class="dim">${t("rpc.changes_nothing")}</p>`);
}

function message(view, id, at_us) {
  const found = findRpc(view, id);
  if (!found) return html`<p class="empty-note">${t("inspect.gone", { what: id })}</p>`;
  const { rpc, end } = found;
  const leader = /^(\S+-\d+)/.exec(rpc.fields[0]?.[0] ?? "")?.[1];
  const part = end ? 1 : progress(rpc, at_us);
  const left = rpc.due_us - at_us;
  const state = end ? t(end.kind === "RpcDropped" ? "rpc.dropped" : "rpc.arrived", { at: instant(end.at_us) }) : rpc.held ? rpc.held : left > 0 ? t("rpc.in", { time: durationText(left) }) : t("rpc.now");
  const parked = view.parked[id];
  return html`<section class="sec">
      <div class="row tight">${pill(rpc, `${rpc.api} ${t(`rpc.${rpc.kind}`)}`)}<span class="mono dim">#${rpc.correlation}</span><span class="spacer"></span><span>${link(nodeTarget(rpc.source), rpc.source)} → ${link(nodeTarget(rpc.destination), rpc.destination)}</span></div>
      ${bar(part, familyOf(rpc.api, rpc.kind))}
      <div class="times mono"><span>${t("rpc.sent", { at: (rpc.sent_us / 1e6).toFixed(4) })}</span><b class=${rpc.held ? "bad" : ""}>${state}</b><span>${(rpc.due_us / 1e6).toFixed(4)}</span></div>
      ${facts(rpc.fields.map(([name, what]) => [name, brief(what, 40), String(what).length > 12 || name.length > 14]))}
    </section>
    ${parked ? section(t("purgatory.parked"), "", html`<ul class="list flat">${parkedRow(parked, id, at_us)}</ul>`) : ""}
    ${end ? "" : arrival(id)}
    ${leader && view.partitions[leader] ? leaderView(view, leader, at_us) : ""}`;
}

// --- replicas and partitions -------------------------------------------------------------------------------------

/** What the leader believes of its followers, beside what is true. */
function leaderView(view, name, at_us) {
  const id = Object.keys(view.replicas).find((key) => view.replicas[key].partition === name && view.replicas[key].role === "leader" && view.nodes[view.replicas[key].node]?.state !== "down");
  if (!id) return "";
  const replica = view.replicas[id];
  const known = previousValues();
  const path = `/replicas/${escape(id)}`;
  const isr = replica.isr;
  const ends = [replica.log_end_offset, ...Object.entries(replica.remotes).filter(([node]) => isr.includes(view.nodes[node]?.broker_id)).map(([, remote]) => remote.log_end_offset)];
  const row = (node, believed, pointer, caught) => {
    const other = view.replicas[`${name}@${node}`];
    const stale = other && believed !== other.log_end_offset;
    return html`<tr><td>${link(`replica:${name}@${node}`, html`${roleTag(other ? replicaRole(view, other) : "offline")}`)} ${node}</td>
      <td>${pointer ? value(pointer, believed < 0 ? "?" : believed, known) : believed}</td><td class=${stale ? "stale" : ""}>${other?.log_end_offset ?? "—"}</td><td>${caught}</td>
      <td class="word">${isr.includes(view.nodes[node]?.broker_id) ? html`<span class="role isr">${t("replica.in")}</span>` : html`<span class="role outisr">${t("replica.out")}</span>`}</td></tr>`;
  };
  const formula = html`<span class="mono">HW = ${value(`${path}/high_watermark`, replica.high_watermark, known)} · min(${ends.map((one) => (one < 0 ? "?" : one)).join(", ")})</span>`;
  return section(t("replica.leader_view", { node: replica.node, partition: name }), formula, html`<table class="wide-first"><thead><tr><th>${t("replica.replica")}</th><th>${t("replica.remote_leo")}</th><th>${t("replica.true_leo")}</th><th>${t("replica.caught_up")}</th><th class="word">ISR</th></tr></thead>
    <tbody>${row(replica.node, replica.log_end_offset, null, "—")}${Object.entries(replica.remotes).map(([node, remote]) =>
      row(node, remote.log_end_offset, `${path}/remotes/${node}/log_end_offset`, remote.last_caught_up_us > 0 ? durationText(Math.max(0, at_us - remote.last_caught_up_us)) : "—"))}</tbody></table>
    ${replica.pending_isr ? html`<p class="warned">${t("replica.pending_isr", { isr: set(replica.pending_isr) })}</p>` : ""}`);
}

function replicaCard(view, id, at_us) {
  const replica = view.replicas[id];
  if (!replica) return html`<p class="empty-note">${t("inspect.gone", { what: id })}</p>`;
  const known = previousValues();
  const path = `/replicas/${escape(id)}`;
  const ask = (field, shown = replica[field]) => value(`${path}/${field}`, shown, known);
  return html`<section class="sec">
      <div class="row tight"><b>${replica.partition}</b><span class="dim">${t("inspect.on")}</span>${link(nodeTarget(replica.node), nodeName(replica.node))}<span class="spacer"></span>${roleTag(replicaRole(view, replica))}</div>
      ${facts([
        [t("term.leo"), ask("log_end_offset")], [t("term.hw"), ask("high_watermark")],
        [t("term.log_start"), ask("log_start_offset")], [t("term.epoch"), ask("leader_epoch")],
        [t("replica.leader"), replica.leader >= 0 ? link(`broker:b${replica.leader}`, `b${replica.leader}`) : "—"], [t("replica.flushed"), ask("flushed")],
      ])}
    </section>
    ${replica.role === "leader" ? leaderView(view, replica.partition, at_us) : believed(view, replica, known)}
    ${replica.cut ? section(t("replica.truncated"), instant(replica.cut.at_us), html`<p>${t("replica.cut", { from: replica.cut.from, to: replica.cut.to })} <span class="dim">${replica.cut.why}</span></p>`) : ""}
    ${section(t("replica.epochs"), "", html`<p class="mono chips">${replica.epochs.map(([epoch, start]) => html`<span class="tag">e${epoch} @${start}</span>`)}</p>`)}
    ${section(t("replica.segments"), html`<button class="val" @click=${() => openFile(id)}>${t("replica.files")}</button>`, html`<table><thead><tr><th>${t("replica.base")}</th><th>.log</th><th>.index</th><th>.timeindex</th></tr></thead>
      <tbody>${Object.entries(replica.segments).map(([base, [size, entries, times]]) => html`<tr><td>${segmentLink(id, base)}</td><td>${bytes(size)}</td><td>${entries}</td><td>${times}</td></tr>`)}</tbody></table>`)}
    ${section(t("replica.tail"), "", html`<table><thead><tr><th>${t("replica.offsets")}</th><th>${t("term.epoch")}</th><th>${t("replica.position")}</th><th>${t("replica.size")}</th></tr></thead>
      <tbody>${tailOf(replica).slice(-8).toReversed().map(({ first, last, epoch, segment, position, size }) => html`<tr><td><button class="val" @click=${() => openFile(id, segment, position)}>${first === last ? first : `${first}–${last}`}</button></td><td>${epoch}</td><td>${spaced(position)}</td><td>${size}</td></tr>`)}</tbody></table>`)}`;
}

const segmentLink = (id, base) => html`<button class="val" @click=${() => openFile(id, base)}>${base}</button>`;

function believed(view, replica, known) {
  const leader = view.replicas[`${replica.partition}@b${replica.leader}`];
  const remote = leader?.remotes[replica.node];
  if (!remote) return "";
  const stale = remote.log_end_offset !== replica.log_end_offset;
  return section(t("replica.leader_believes", { node: leader.node }), "", html`<p>${t("term.leo")} ${value(`/replicas/${escape(`${replica.partition}@${leader.node}`)}/remotes/${replica.node}/log_end_offset`, remote.log_end_offset < 0 ? "?" : remote.log_end_offset, known)}
    ${stale ? html`<span class="warned">${t("replica.really", { n: replica.log_end_offset })}</span>` : html`<span class="dim">${t("replica.agrees")}</span>`}</p>`);
}

function partitionCard(view, name, at_us) {
  const it = view.partitions[name];
  if (!it) return html`<p class="empty-note">${t("inspect.gone", { what: name })}</p>`;
  const known = previousValues();
  const ask = (field, shown = it[field]) => value(`/partitions/${escape(name)}/${field}`, shown, known);
  return html`<section class="sec"><div class="row tight"><b>${name}</b><span class="spacer"></span><span class="tag">${view.controller_partitions[name] ?? ""}</span></div>
      ${facts([[t("replica.leader"), ask("leader", it.leader < 0 ? t("replica.none") : `b${it.leader}`)], ["ISR", ask("isr", set(it.isr))], [t("term.epoch"), ask("leader_epoch")],
        [t("replica.replicas"), set(it.replicas)], [t("replica.controller_epoch"), ask("controller_epoch")], [t("replica.partition_epoch"), ask("partition_epoch")]])}</section>
    ${leaderView(view, name, at_us)}
    ${section(t("replica.replicas"), "", replicaTable(view, Object.keys(view.replicas).filter((id) => view.replicas[id].partition === name), "node"))}`;
}

function replicaTable(view, ids, by) {
  return html`<table class="wide-first"><thead><tr><th>${t("replica.replica")}</th><th>LEO</th><th>HW</th><th>${t("term.epoch")}</th></tr></thead><tbody>${ids.map((id) => {
    const replica = view.replicas[id];
    return html`<tr><td>${link(`replica:${id}`, html`${roleTag(replicaRole(view, replica))}`)} ${by === "node" ? replica.node : replica.partition}</td><td>${replica.log_end_offset}</td><td>${replica.high_watermark}</td><td>${replica.leader_epoch}</td></tr>`;
  })}</tbody></table>`;
}

// --- nodes and links ---------------------------------------------------------------------------------------------

function node(view, name, at_us) {
  const it = view.nodes[name];
  if (!it) return html`<p class="empty-note">${t("inspect.gone", { what: name })}</p>`;
  const known = previousValues();
  const ask = (field, shown = it[field]) => value(`/nodes/${escape(name)}/${field}`, shown, known);
  const parked = Object.entries(view.parked).filter(([, one]) => one.broker === name);
  const own = Object.keys(view.replicas).filter((id) => view.replicas[id].node === name);
  const settings = Object.entries(it.settings ?? {});
  return html`<section class="sec"><div class="row tight"><b>${nodeName(name)}</b><span class="state ${it.state}">${t(`node.${it.state}`)}</span><span class="dim">${t("node.since", { time: durationText(at_us - it.since_us) })}</span></div>
      ${it.kind === "broker" ? facts([[t("node.id"), it.broker_id], [t("node.epoch"), ask("broker_epoch")], [t("node.session"), it.session ?? "—"], [t("node.controller_word"), view.controller.broker === it.broker_id ? t("node.yes_epoch", { n: view.controller.controller_epoch }) : t("node.no")], [t("node.knows"), ask("live_brokers", set(it.live_brokers)), true]]) : ""}
      ${it.kind === "producer" ? facts([[t("produce.partition"), it.partition || "—"], ["acks", it.settings?.acks === "-1" ? "all" : it.settings?.acks], [t("produce.sent"), ask("sent")], [t("produce.acked"), ask("acknowledged")], [t("produce.failed"), ask("failed")], [t("produce.retried"), ask("retried")],
        [t("produce.last_offset"), ask("last_offset")], [t("produce.latency"), durationText(it.last_latency_us)], it.last_error && [t("produce.error"), it.last_error, true]]) : ""}
      ${it.kind === "consumer" ? facts([[t("produce.partition"), it.partition], [t("consume.position"), ask("position")], [t("term.hw"), ask("high_watermark")], [t("consume.lag_word"), it.high_watermark - it.position], it.last_reset && [t("consume.reset"), it.last_reset, true]]) : ""}
      ${it.kind === "zookeeper" ? facts([[t("node.znodes"), Object.keys(view.zk).length], [t("node.ephemerals"), Object.values(view.zk).filter((one) => one.ephemeral).length]]) : ""}
      ${actions(view, nodeTarget(name))}</section>
    ${own.length ? section(t("node.replicas"), own.length, replicaTable(view, own, "partition")) : ""}
    ${it.kind === "consumer" && it.records.length ? section(t("consume.read"), "", html`<table><thead><tr><th>${t("record.offset")}</th><th class="word">${t("produce.key")}</th><th class="word">${t("produce.value")}</th><th>${t("record.time")}</th></tr></thead>
      <tbody>${it.records.toReversed().map(([offset, time, key, what]) => html`<tr><td>${link(`record:${it.partition}@b${view.partitions[it.partition]?.leader}:${offset}`, offset)}</td><td class="word">${key ?? "null"}</td><td class="word">${what === null ? "null" : brief(what, 24)}</td><td>${wall(time, language)}</td></tr>`)}</tbody></table>`) : ""}
    ${parked.length ? section(t("purgatory.title"), t("purgatory.waiting", { n: parked.length }), html`<ul class="list flat">${parked.map(([id, one]) => parkedRow(one, id, at_us))}</ul>`) : ""}
    ${view.checkpoints[name] ? section(t("node.checkpoints"), "", html`${Object.entries(view.checkpoints[name]).map(([file, { at_us: written, entries }]) => html`<p class="mono">${file} <span class="dim">${t("node.ago", { time: durationText(at_us - written) })}</span></p><p class="mono chips">${entries.map(([partition, offset]) => html`<span class="tag">${partition} ${offset}</span>`)}</p>`)}`) : ""}
    ${settings.length ? section(t("node.settings"), "", facts(settings.map(([key, what]) => [key, what, true]))) : ""}`;
}

function linkCard(view, key, at_us) {
  const [a, b] = key.split("|");
  const cut = view.links[key];
  const under = Object.entries(view.rpcs).filter(([, rpc]) => [rpc.source, rpc.destination].sort().join("|") === key);
  return html`<section class="sec"><div class="row tight"><b>${nodeName(a)} – ${nodeName(b)}</b><span class="spacer"></span>${cut ? html`<span class="tag bad">✕ ${t("link.cut", { time: durationText(at_us - cut.since_us) })}</span>` : html`<span class="tag ok">${t("link.works")}</span>`}</div>
      ${actions(view, `link:${key}`)}</section>
    ${section(t("link.under_way"), under.length, html`<ul class="list flat">${under.map(([id, rpc]) => html`<li><button class="rpc" @click=${() => select(`rpc:${id}`)}><span class="row tight">${pill(rpc)}<span class="spacer"></span>${rpc.source} → ${rpc.destination}</span></button></li>`)}</ul>`)}`;
}

/** Without a selection: what the leader of the partition that is shown believes, and who waits there. */
function overview(view, at_us) {
  const leader = `b${view.partitions[partition.value]?.leader}`;
  const parked = Object.entries(view.parked).filter(([, one]) => one.broker === leader && one.partitions.includes(partition.value));
  return html`<p class="empty-note">${t("inspect.nothing")}</p>
    ${partition.value in view.partitions ? leaderView(view, partition.value, at_us) : ""}
    ${parked.length ? section(t("purgatory.of", { node: leader }), t("purgatory.waiting", { n: parked.length }), html`<ul class="list flat">${parked.map(([id, one]) => parkedRow(one, id, at_us))}</ul>`) : ""}`;
}

// --- the tab -----------------------------------------------------------------------------------------------------

const CARDS = { rpc: message, parked: message, broker: node, client: node, replica: replicaCard, partition: partitionCard, link: linkCard };

/** The key W: why has the selected thing its most telling value? */
export function whyOfSelection() {
  const [kind, name] = split(selection.value);
  const { view } = moment.value;
  const pointers = {
    replica: `/replicas/${escape(name)}/high_watermark`,
    partition: `/partitions/${escape(name)}/leader`,
    broker: `/nodes/${name}/state`,
    client: `/nodes/${name}/${view.nodes[name]?.kind === "producer" ? "last_offset" : "position"}`,
    rpc: `/rpcs/${name}`,
    znode: `/zk/${escape(name)}`,
  };
  if (kind === "record") askWhy(`/replicas/${escape(name.slice(0, name.lastIndexOf(":")))}/log_end_offset`);
  else if (pointers[kind]) askWhy(pointers[kind]);
}

class HwInspect extends HwElement {
  render() {
    const { view, at_us } = moment.value;
    const [kind, name] = split(selection.value);
    return html`<hw-why></hw-why>
      ${kind === "record" ? html`<hw-record></hw-record>` : CARDS[kind] ? CARDS[kind](view, name, at_us) : overview(view, at_us)}
      <hw-changes></hw-changes>`;
  }
}
customElements.define("hw-inspect", HwInspect);
