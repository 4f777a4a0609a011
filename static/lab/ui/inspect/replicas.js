// The inspector's cards of partitions and replicas: what is true, and what the leader believes.
import { faultIn } from "../../core/faults.js";
import { byName, internalLast, lagTime, leaderReplica, logEnd } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { html } from "../kit/element.js";
import { openFile } from "../store/files.js";
import { bytes, instant, set, spaced } from "../kit/format.js";
import { language, t } from "../kit/i18n.js";
import { facts, link, nothing, roleTag, section, table, value } from "../parts/common.js";
import { previousValues } from "../store/changes.js";
import { nodeTarget } from "../store/state.js";
import { escapeKey, nodeName, replicaRole, said, tailOf } from "../kit/words.js";

const TAIL_SHOWN = 8;

const known = (offset) => (offset < 0 ? "?" : offset);
const replicaPath = (id) => `/replicas/${escapeKey(id)}`;

/** What the leader of a partition believes of its followers, beside what is true. Empty while nobody leads. */
export function leaderView(view, name, at_us) {
  const leader = leaderReplica(view, name);
  if (leader?.role !== "leader" || view.nodes[leader.node]?.state === "down") return "";
  const previous = previousValues();
  const path = replicaPath(`${name}@${leader.node}`);
  const inIsr = (node) => leader.isr.includes(view.nodes[node]?.broker_id);
  const row = (node, believed, caughtUp) => {
    const replica = view.replicas[`${name}@${node}`];
    const really = replica ? logEnd(view, replica) : "—";
    const isStale = replica && really !== leader.remotes[node]?.log_end_offset && node !== leader.node;
    return [
      html`${link(`replica:${name}@${node}`, roleTag(replica ? replicaRole(view, replica) : "offline"))} ${node}`,
      believed,
      isStale ? html`<b class="stale">${really}</b>` : really,
      caughtUp,
      html`<span class="role ${inIsr(node) ? "isr" : "outisr"}">${t(inIsr(node) ? "replica.in" : "replica.out")}</span>`,
    ];
  };
  const remotes = Object.entries(leader.remotes).sort(([a], [b]) => byName(a, b));
  const rows = remotes.map(([node, remote]) => row(
    node,
    value(`${path}/remotes/${node}/log_end_offset`, known(remote.log_end_offset), previous),
    remote.last_caught_up_us > 0 ? durationText(lagTime(leader, remote, at_us)) : "—",
  ));
  const ends = [leader.log_end_offset, ...remotes.filter(([node]) => inIsr(node)).map(([, remote]) => known(remote.log_end_offset))];
  const formula = html`<span class="mono">
    HW = ${value(`${path}/high_watermark`, leader.high_watermark, previous)} · min(${ends.join(", ")})</span>`;
  const titles = ["replica", "remote_leo", "true_leo", "caught_up"].map((title) => t(`replica.${title}`));
  return section(t("replica.leader_view", { node: leader.node, partition: name }), formula, html`
    ${table([...titles, "ISR"], [row(leader.node, leader.log_end_offset, "—"), ...rows], { words: [4], name: "wide-first" })}
    ${leader.pending_isr ? html`<p class="warned">${t("replica.pending_isr", { isr: set(leader.pending_isr) })}</p>` : ""}`);
}

/** Of a follower: what its leader believes. */
function belief(view, replica, previous) {
  const leader = view.replicas[`${replica.partition}@b${replica.leader}`];
  const remote = leader?.remotes[replica.node];
  if (!remote) return "";
  const path = `${replicaPath(`${replica.partition}@${leader.node}`)}/remotes/${replica.node}/log_end_offset`;
  const verdict = remote.log_end_offset === replica.log_end_offset
    ? html`<span class="dim">${t("replica.agrees")}</span>`
    : html`<span class="warned">${t("replica.really", { n: replica.log_end_offset })}</span>`;
  const body = html`<p>${t("term.leo")} ${value(path, known(remote.log_end_offset), previous)} ${verdict}</p>`;
  return section(t("replica.leader_believes", { node: leader.node }), "", body);
}

const fileButton = (text, ...place) => html`<button class="val" @click=${() => openFile(...place)}>${text}</button>`;

function segments(id, replica) {
  const rows = Object.entries(replica.segments).map(([base, [size, entries, times]]) =>
    [fileButton(base, id, base), bytes(size), entries, times]);
  const body = table([t("replica.base"), ".log", ".index", ".timeindex"], rows);
  return section(t("replica.segments"), fileButton(t("replica.files"), id), body);
}

function tail(id, replica) {
  const rows = tailOf(replica).slice(-TAIL_SHOWN).toReversed().map(({ first, last, epoch, segment, position, size }) =>
    [fileButton(first === last ? first : `${first}–${last}`, id, segment, position), epoch, spaced(position), size]);
  return section(t("replica.tail"), "", table([t("replica.offsets"), t("term.epoch"), t("replica.position"), t("replica.size")], rows));
}

/** Which files were not as they should be, each with the rule that it broke. */
const repaired = (repairs) => repairs.map(([file, , , , rule]) =>
  html`<p><span class="mono">${file.slice(file.lastIndexOf("/") + 1)}</span> <span class="dim">${faultIn(rule, language)}</span></p>`);

export function replicaCard(view, id, at_us) {
  const replica = view.replicas[id];
  if (!replica) return nothing(t("inspect.gone", { what: id }));
  const previous = previousValues();
  const ask = (field) => value(`${replicaPath(id)}/${field}`, replica[field], previous);
  const { cut } = replica;
  return html`<section class="sec">
      <div class="row tight">
        <b>${replica.partition}</b><span class="dim">${t("inspect.on")}</span>${link(nodeTarget(replica.node), nodeName(replica.node))}
        <span class="spacer"></span>${roleTag(replicaRole(view, replica))}
      </div>
      ${facts([
        [t("term.leo"), ask("log_end_offset")],
        [t("term.hw"), ask("high_watermark")],
        [t("term.log_start"), ask("log_start_offset")],
        [t("term.epoch"), ask("leader_epoch")],
        [t("replica.leader"), replica.leader >= 0 ? link(`broker:b${replica.leader}`, `b${replica.leader}`) : "—"],
        [t("replica.flushed"), ask("flushed")],
        ...(view.nodes[replica.node]?.state === "down" ? [[t("replica.left"), logEnd(view, replica)]] : []),
      ])}
    </section>
    ${replica.role === "leader" ? leaderView(view, replica.partition, at_us) : belief(view, replica, previous)}
    ${cut ? section(t("replica.truncated"), instant(cut.at_us), html`<p>${t("replica.cut", cut)} <span class="dim">${said(cut.why)}</span></p>`) : ""}
    ${replica.repairs.length ? section(t("replica.repaired"), "", repaired(replica.repairs)) : ""}
    ${section(t("replica.epochs"), "", html`<p class="mono chips">
      ${replica.epochs.map(([epoch, start]) => html`<span class="tag">e${epoch} @${start}</span>`)}</p>`)}
    ${segments(id, replica)}${tail(id, replica)}`;
}

/** Replicas in a few columns; `by` says what tells them apart: node or partition. */
export function replicaTable(view, ids, by) {
  const rows = ids.sort(internalLast).map((id) => {
    const replica = view.replicas[id];
    return [
      html`${link(`replica:${id}`, roleTag(replicaRole(view, replica)))} ${replica[by]}`,
      logEnd(view, replica), replica.high_watermark, replica.leader_epoch,
    ];
  });
  return table([t("replica.replica"), "LEO", "HW", t("term.epoch")], rows, { name: "wide-first" });
}

export function partitionCard(view, name, at_us) {
  const it = view.partitions[name];
  if (!it) return nothing(t("inspect.gone", { what: name }));
  const previous = previousValues();
  const ask = (field, shown = it[field]) => value(`/partitions/${escapeKey(name)}/${field}`, shown, previous);
  const replicas = Object.keys(view.replicas).filter((id) => view.replicas[id].partition === name);
  return html`<section class="sec">
      <div class="row tight"><b>${name}</b><span class="spacer"></span><span class="tag">${view.controller_partitions[name]}</span></div>
      ${facts([
        [t("replica.leader"), ask("leader", it.leader < 0 ? t("replica.none") : `b${it.leader}`)],
        ["ISR", ask("isr", set(it.isr))],
        [t("term.epoch"), ask("leader_epoch")],
        [t("replica.replicas"), set(it.replicas)],
        [t("replica.controller_epoch"), ask("controller_epoch")],
        [t("replica.partition_epoch"), ask("partition_epoch")],
      ])}
    </section>
    ${leaderView(view, name, at_us)}
    ${section(t("replica.replicas"), "", replicaTable(view, replicas, "node"))}`;
}
