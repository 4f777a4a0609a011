// The inspector's cards of partitions and replicas: the actual state, and the leader's view of it.
import { byName, internalLast, lagTime, leaderReplica, logEnd } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { html } from "../kit/element.js";
import { isAlone } from "../store/api.js";
import { openFile } from "../store/files.js";
import { bytes, instant, set, spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { facts, link, nothing, roleTag, section, table, value } from "../parts/common.js";
import { previousValues } from "../store/changes.js";
import { nodeTarget } from "../store/state.js";
import { escapeKey, nodeName, replicaRole, term, tailOf } from "../kit/words.js";

/** @import { Partition, Replica, View } from "../../core/view/view.d.ts" */

const TAIL_SHOWN = 8;

/** @param {number} offset */
const known = (offset) => (offset < 0 ? "?" : offset);
/** @param {string} id */
const replicaPath = (id) => `/replicas/${escapeKey(id)}`;

/**
 * The leader's view of its followers, beside their actual state. Empty without a leader.
 * @param {View} view
 * @param {string} name
 * @param {number} at_us
 */
export function leaderView(view, name, at_us) {
  const leader = leaderReplica(view, name);
  if (leader?.role !== "leader" || view.nodes[leader.node]?.state === "down") return "";
  const previous = previousValues();
  const path = replicaPath(`${name}@${leader.node}`);
  /** @param {string} node */
  const inIsr = (node) => leader.isr.includes(view.nodes[node]?.broker_id ?? -1);
  /** @param {string} node @param {unknown} believed @param {string} caughtUp */
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
  const formula = html`<span class="mono formula">HW =
    ${value(`${path}/high_watermark`, leader.high_watermark, previous)} · min(${ends.join(", ")})</span>`;
  const titles = ["replica", "remote_leo", "true_leo", "caught_up"].map((title) => t(`replica.${title}`));
  return section(t("replica.leader_view", { node: leader.node, partition: name }), formula, html`
    ${table([...titles, "ISR"], [row(leader.node, leader.log_end_offset, "—"), ...rows], { words: [4], name: "wide-first" })}
    ${leader.pending_isr ? html`<p class="warned">${t("replica.pending_isr", { isr: set(leader.pending_isr) })}</p>` : ""}`);
}

/** Of a follower: its leader's view of it. @param {View} view @param {Replica} replica @param {ReadonlyMap<string, unknown>} previous */
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

/**
 * Opens a file of a replica; where there is no lab to read it from, the text alone.
 * @param {unknown} text @param {string} id @param {number} [segment] @param {number} [position]
 */
const fileButton = (text, id, segment, position) => isAlone ? text : html`<button class="val"
  @click=${() => openFile(id, segment, position)}>${text}</button>`;

/** @param {string} id @param {Replica} replica */
function segments(id, replica) {
  const rows = Object.entries(replica.segments).map(([base, [size, entries, times]]) =>
    [fileButton(base, id, Number(base)), bytes(size), entries, times]);
  const body = table([t("replica.base"), ".log", ".index", ".timeindex"], rows);
  return section(t("replica.segments"), isAlone ? "" : fileButton(t("replica.files"), id), body);
}

/** @param {string} id @param {Replica} replica */
function tail(id, replica) {
  const rows = tailOf(replica).slice(-TAIL_SHOWN).toReversed().map(({ first, last, epoch, segment, position, size }) =>
    [fileButton(first === last ? first : `${first}–${last}`, id, segment, position), epoch, spaced(position), size]);
  return section(t("replica.tail"), "", table([t("replica.offsets"), t("term.epoch"), t("replica.position"), t("replica.size")], rows));
}

/** Files that were repaired, each with the rule that it broke. @param {Replica["repairs"]} repairs */
const repaired = (repairs) => repairs.map(([file, , , , rule]) =>
  html`<p><span class="mono">${file.slice(file.lastIndexOf("/") + 1)}</span> <span class="dim">${term(rule)}</span></p>`);

/** @param {View} view @param {string} id @param {number} at_us */
export function replicaCard(view, id, at_us) {
  const replica = view.replicas[id];
  if (!replica) return nothing(t("inspect.gone", { what: id }));
  const previous = previousValues();
  /** @param {keyof Replica} field */
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
        view.nodes[replica.node]?.state === "down" && [t("replica.left"), logEnd(view, replica)],
      ])}
    </section>
    ${replica.role === "leader" ? leaderView(view, replica.partition, at_us) : belief(view, replica, previous)}
    ${cut ? section(t("replica.truncated"), instant(cut.at_us),
      html`<p>${t("replica.cut", cut)} <span class="dim">${term(cut.why)}</span></p>`) : ""}
    ${replica.repairs.length ? section(t("replica.repaired"), "", repaired(replica.repairs)) : ""}
    ${section(t("replica.epochs"), "", html`<p class="mono chips">
      ${replica.epochs.map(([epoch, start]) => html`<span class="tag">e${epoch} @${start}</span>`)}</p>`)}
    ${segments(id, replica)}${tail(id, replica)}`;
}

/** Replicas in a few columns; `by` is what distinguishes them.
 * @param {View} view
 * @param {string[]} ids
 * @param {"node" | "partition"} by
 */
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

/** @param {View} view @param {string} name @param {number} at_us */
export function partitionCard(view, name, at_us) {
  const it = view.partitions[name];
  if (!it) return nothing(t("inspect.gone", { what: name }));
  const previous = previousValues();
  /** @param {keyof Partition} field @param {unknown} [shown] */
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
