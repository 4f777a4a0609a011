// The screen of consumer groups: the state machine with its clock, the assignment, and the lag.
import { groupNames, isReplaced, lagRows, lastCommits, memberRows, partitionsOf, waited } from "../../../core/view/groups.js";
import { durationText } from "../../../core/player/timemap.js";
import { zookeeperGroups } from "../../../core/view/zookeeper_groups.js";
import { HwElement, html, svg } from "../../kit/element.js";
import { onValue } from "../../kit/events.js";
import { wall } from "../../kit/format.js";
import { chosen, chosenKey } from "../../store/groups.js";
import { language, t } from "../../kit/i18n.js";
import { legend, link, nothing, opener, ring, unlessMasked } from "../../parts/common.js";
import { CHARTS, stateChart } from "../../kit/statechart.js";
import { effect, moment, nodeTarget, player, select, selection, shown } from "../../store/state.js";
import { term } from "../../kit/words.js";

/** @import { Lag, MemberRow } from "../../../core/view/groups.js" */
/** @import { OldGroup } from "../../../core/view/zookeeper_groups.js" */
/** @import { Group, View } from "../../../core/view/view.d.ts" */

/** Eras without transactions have no last stable offset. */
const BEFORE_TRANSACTIONS = new Set(["0.8", "0.10"]);

/** The marks of the assignment's legend, and their texts. */
const MARKS = {
  owned: "legend_owned", was: "legend_was", done: "committed", position: "position", stable: "last_stable_offset", seen: "high_watermark",
};

class HwGroups extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => void this.toggleAttribute("hidden", shown.value !== "groups"));
  }

  /** @param {View} view @param {string} key @param {string[]} names @param {number} at_us */
  head(view, key, names, at_us) {
    const group = view.groups[key];
    const choose = onValue((name) => (chosen.value = name));
    return html`<header class="clients-head">
      ${names.length > 1
        ? html`<select class="chip" aria-label=${t("groups.which")} @change=${choose}>
            ${names.map((one) => html`<option value=${one} .selected=${one === key}>${view.groups[one].group}${isReplaced(view, one)
              ? ` · ${view.groups[one].coordinator}` : ""}</option>`)}</select>`
        : html`<b class="mono">${group.group}</b>`}
      <span class="tag">${t("groups.generation", { n: group.generation_id })}</span>
      ${group.protocol ? html`<span class="tag mono">${group.protocol}</span>` : ""}
      <span class="dim">${t("groups.coordinator")} ${link(nodeTarget(group.coordinator),
        group.coordinator)} · ${link(`partition:${group.partition}`, group.partition)}</span>
      ${isReplaced(view, key) ? html`<span class="tag bad">${t("groups.replaced")}</span>` : ""}
      <span class="dim">${t("node.since", { time: durationText(at_us - group.since_us) })}</span>
      <span class="spacer"></span>${opener("member")}
    </header>`;
  }

  /** How long the state may wait, as a ring that closes. @param {Group} group @param {number} at_us */
  clock(group, at_us) {
    const part = waited(group, at_us);
    if (part === null) return "";
    return html`<p class="clock">${ring(part)}${t("groups.waits", { time: durationText(Math.max(0, group.due_us - at_us)) })}</p>`;
  }

  /** @param {View} view @param {string} key @param {number} at_us */
  chart(view, key, at_us) {
    const group = view.groups[key];
    const last = moment.value.mode === "pause" ? player.lastEvents : [];
    const change = last.flatMap((event) => (event.kind === "GroupTransitioned" ? [event.data] : []))
      .findLast((one) => one.group === group.group);
    const label = t("controller.is", { what: group.group, state: group.state });
    const from = change?.from_state;
    return html`<section class="chart" aria-label=${t("groups.state")}>
      <div class="chart-box">${CHARTS.group ? stateChart("group", { active: group.state, from, counts: {}, label }) : ""}
        <div class="meaning"><p><b class="mono">${group.state}</b> ${t(`state.${group.state}`)}</p>
        <p class="dim">${term(group.why)}</p>${this.clock(group, at_us)}</div></div></section>`;
  }

  /** @param {View} view @param {MemberRow} member @param {string[]} partitions */
  member(view, { id, client, instance, isLeader, cells }, partitions) {
    const node = view.nodes[client];
    const member = node?.kind === "consumer" ? node.member : undefined;
    const state = node?.state === "frozen" ? "frozen" : member?.state;
    /** @param {MemberRow["cells"][number]} kind @param {number} place */
    const cell = (kind, place) => html`<td class=${`own ${kind}`}><span title=${kind
      ? t(`groups.${kind}`, { client, partition: partitions[place] }) : ""}>
      ${kind === "owned" ? html`<span class="sr">${t("groups.owned", { client, partition: partitions[place] })}</span>` : ""}</span></td>`;
    return html`<tr class=${selection.value === `client:${client}` ? "on" : ""}><th scope="row">
      <button class="member" title=${id} @click=${() => node && select(`client:${client}`)}>
        <b>${client}</b>${isLeader ? html`<span class="tag leads">${t("groups.leader")}</span>` : ""}${instance
          ? html`<span class="tag">${t("groups.static", { instance })}</span>` : ""}
        ${state ? html`<span class="dim" title=${term(member?.why)}>${term(state)}</span>` : ""}</button></th>${cells.map(cell)}</tr>`;
  }

  /**
   * Log start to log end, with what is committed, the member's position, the last stable offset and the high watermark.
   * @param {Lag} lag
   */
  strip({ start, committed, position, last_stable_offset, high_watermark, end }) {
    /** @param {number} offset */
    const at = (offset) => (end > start ? Math.min(100, Math.max(0, (100 * (offset - start)) / (end - start))) : 0);
    return svg`<svg class="lag-strip" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="log" width="100" height="10"></rect><rect class="seen" width=${at(high_watermark)} height="10"></rect>
        <rect class="stable" width=${at(last_stable_offset)} height="10"></rect>
      ${committed === null ? "" : svg`<rect class="done" width=${at(committed)} height="10"></rect>`}
      ${position === null ? "" : svg`<rect class="position" x=${Math.min(98.4, at(position))} width="1.6" height="10"></rect>`}</svg>`;
  }

  /** @param {View} view @param {OldGroup} group @param {string[]} partitions */
  assignment(view, group, partitions) {
    const rows = memberRows(group, partitions);
    const lags = lagRows(view, group, partitions);
    const hasTransactions = !BEFORE_TRANSACTIONS.has(view.run.era);
    /** @param {string} name @param {(lag: Lag) => unknown} cell */
    const line = (name, cell) => html`<tr class="sum">
      <th scope="row">${t(`groups.${name}`)}</th>${lags.map((lag) => html`<td>${cell(lag)}</td>`)}</tr>`;
    return html`<section class="assignment" aria-label=${t("groups.assignment")}>
      <h3>${t("groups.assignment")} <span class="dim">${t("groups.members", { n: rows.length })}</span></h3>
      ${partitions.length || rows.length ? html`<div class="scroll-x" tabindex="0"><table class="owners">
        <thead><tr><td></td>${partitions.map((name) =>
          html`<th scope="col"><button @click=${() => select(`partition:${name}`)}>${name}</button></th>`)}</tr></thead>
        <tbody>${rows.map((row) => this.member(view, row, partitions))}</tbody>
        <tbody>${line("strip", (lag) => this.strip(lag))}${line("committed", ({ committed }) => unlessMasked(committed ?? "—"))}
          ${line("position", ({ position }) => unlessMasked(position ?? "—"))}${hasTransactions
            ? line("last_stable_offset", ({ last_stable_offset }) => last_stable_offset) : ""}
          ${line("high_watermark", ({ high_watermark }) => high_watermark)}${line("end", ({ end }) => end)}${line("lag",
            ({ lag }) => unlessMasked(lag === null ? "—" : html`<b class=${lag ? "behind" : ""}>${lag}</b>`))}</tbody>
      </table></div>
      ${legend(Object.entries(hasTransactions ? MARKS : { ...MARKS, stable: "" }).filter(([, name]) => name)
        .map(([mark, name]) => [mark, t(`groups.${name}`)]))}` : nothing(t("groups.nobody"))}
    </section>`;
  }

  /** The group's slot of __consumer_offsets: the last value of each key, as compaction would leave it. @param {Group} group */
  records(group) {
    const commits = lastCommits(group);
    const members = Object.values(group.members).map(({ client }) => client).join(", ");
    /** @param {[number, number, string, number]} commit */
    const value = ([offset, leader_epoch, metadata, at_ms]) => html`<td class="mono">${unlessMasked(`offset ${offset}`)}</td>
      <td class="mono">${leader_epoch < 0 ? "—" : leader_epoch}</td>
      <td class="mono">${metadata || "—"}</td><td class="mono">${wall(at_ms, language)}</td>`;
    const pending = Object.entries(group.pending)
      .flatMap(([id, offsets]) => Object.entries(offsets).map(([partition, offset]) => [id, partition, offset]));
    return html`<section aria-label=${t("groups.slot", { partition: group.partition })}>
      <h3>${t("groups.slot", { partition: group.partition })} <span class="dim">${t("groups.slot_said")}</span></h3>
      <div class="scroll-x" tabindex="0"><table class="slot-table">
        <thead><tr>${["key", "value", "leader_epoch", "metadata", "written"].map((name) =>
          html`<th scope="col">${t(`groups.slot_${name}`)}</th>`)}</tr></thead>
        <tbody>${commits.map(({ partition, value: last }) => html`<tr><th scope="row" class="mono">${group.group}, ${partition}</th>
            ${last === null ? html`<td class="dim" colspan="4">${t("groups.tombstone")}</td>` : value(last)}</tr>`)}
          ${pending.map(([id, partition, offset]) => html`<tr class="pending"><th scope="row" class="mono">${group.group}, ${partition}</th>
            <td class="mono">offset ${offset}</td><td class="dim" colspan="3">${t("groups.pending", { id })}</td></tr>`)}
          <tr><th scope="row" class="mono">${group.group}</th><td colspan="4"><span
            class="mono">${t("groups.slot_group", { n: group.generation_id, protocol: group.protocol || "—", members: members
              || "—" })}</span></td></tr></tbody>
      </table></div></section>`;
  }

  /** A group from before 0.9. @param {View} view @param {OldGroup} group */
  old(view, group) {
    const root = `/consumers/${group.group}`;
    return html`<header class="clients-head"><b class="mono">${group.group}</b><span class="tag">ZooKeeper</span>
        <span class="dim">${t("groups.by_zookeeper")} ${link(`znode:${root}`, root)}</span><span
          class="spacer"></span>${opener("member")}</header>
      ${this.assignment(view, group, partitionsOf(view, group))}`;
  }

  render() {
    if (shown.value !== "groups") return html``;
    const { view, at_us } = moment.value;
    const names = groupNames(view);
    const old = zookeeperGroups(view);
    if (!names.length && old.length) return html`<div class="client-screen">${old.map((group) => this.old(view, group))}</div>`;
    if (!names.length) return html`<div class="client-screen">${nothing(t("empty.groups"))}<p
      class="empty-line"><code>consumer start c1 --group g1 --topic orders</code></p>
      <p class="empty-line">${opener("member", "pri")}</p></div>`;
    const key = chosenKey(view) ?? "";
    const group = view.groups[key];
    return html`<div class="client-screen">${this.head(view, key, names, at_us)}
      ${this.assignment(view, group, partitionsOf(view, group))}<hw-group-preview></hw-group-preview>
      ${this.chart(view, key, at_us)}${this.records(group)}</div>`;
  }
}
customElements.define("hw-groups", HwGroups);
