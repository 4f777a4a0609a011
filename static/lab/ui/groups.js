// The screen of consumer groups: the state machine with its clock, who owns which partition, and how far behind the group is.
import { groupNames, isReplaced, lagRows, memberRows, partitionsOf, waited } from "../core/groups.js";
import { durationText } from "../core/timemap.js";
import { HwElement, html, svg } from "./element.js";
import { t } from "./i18n.js";
import { link, nothing, unlessMasked } from "./parts.js";
import { CHARTS, stateChart } from "./statechart.js";
import { effect, moment, nodeTarget, player, select, selection, shown, signal } from "./state.js";

const RING = 2 * Math.PI * 9;

/** The group that is shown, as "group@broker"; "" = the first. */
const chosen = signal("");

class HwGroups extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => this.toggleAttribute("hidden", shown.value !== "groups"));
  }

  head(view, key, names, at_us) {
    const group = view.groups[key];
    const choose = ({ target }) => (chosen.value = names[target.selectedIndex]);
    return html`<header class="clients-head">
      ${names.length > 1
        ? html`<select class="chip" aria-label=${t("groups.which")} @change=${choose}>
            ${names.map((one) => html`<option .selected=${one === key}>${view.groups[one].group}${isReplaced(view, one) ? ` · ${view.groups[one].coordinator}` : ""}</option>`)}</select>`
        : html`<b class="mono">${group.group}</b>`}
      <span class="tag">${t("groups.generation", { n: group.generation_id })}</span>
      ${group.protocol ? html`<span class="tag mono">${group.protocol}</span>` : ""}
      <span class="dim">${t("groups.coordinator")} ${link(nodeTarget(group.coordinator), group.coordinator)} · ${link(`partition:${group.partition}`, group.partition)}</span>
      ${isReplaced(view, key) ? html`<span class="tag bad">${t("groups.replaced")}</span>` : ""}
      <span class="dim">${t("node.since", { time: durationText(at_us - group.since_us) })}</span>
    </header>`;
  }

  /** How long the state may wait, as a ring that closes. */
  clock(group, at_us) {
    const part = waited(group, at_us);
    if (part === null) return "";
    return html`<p class="clock">${svg`<svg class="ring" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9"></circle>
        <circle class="gone" cx="12" cy="12" r="9" stroke-dasharray="${RING * part} ${RING}"></circle></svg>`}
      ${t("groups.waits", { time: durationText(Math.max(0, group.due_us - at_us)) })}</p>`;
  }

  chart(view, key, at_us) {
    const group = view.groups[key];
    const isNew = moment.value.mode === "pause" && player.lastEvents.findLast((event) => event.kind === "GroupTransitioned" && event.data.group === group.group);
    return html`<section class="chart" aria-label=${t("groups.state")}>
      <div class="chart-box">${CHARTS.group ? stateChart("group", { active: group.state, from: isNew ? isNew.data.from_state : "", counts: {}, label: t("controller.is", { what: group.group, state: group.state }) }) : ""}
        <p class="meaning"><b class="mono">${group.state}</b> ${t(`state.${group.state}`)}</p>
        <p class="meaning dim">${group.why}</p>${this.clock(group, at_us)}</div></section>`;
  }

  member(view, { id, client, instance, isLeader, cells }, partitions) {
    const node = view.nodes[client];
    const state = node?.member?.state;
    const cell = (kind, place) => html`<td class=${`own ${kind}`}><span title=${kind ? t(`groups.${kind}`, { client, partition: partitions[place] }) : ""}>
      ${kind === "owned" ? html`<span class="sr">${t("groups.owned", { client, partition: partitions[place] })}</span>` : ""}</span></td>`;
    return html`<tr class=${selection.value === `client:${client}` ? "on" : ""}><th scope="row">
      <button class="member" title=${id} @click=${() => node && select(`client:${client}`)}>
        <b>${client}</b>${isLeader ? html`<span class="tag leads">${t("groups.leader")}</span>` : ""}${instance ? html`<span class="tag">${t("groups.static", { instance })}</span>` : ""}
        ${state ? html`<span class="dim">${state}</span>` : ""}</button></th>${cells.map(cell)}</tr>`;
  }

  /** Log start to log end, with what is committed and the high watermark. */
  strip({ start, committed, high_watermark, end }) {
    const at = (offset) => (end > start ? Math.min(100, Math.max(0, (100 * (offset - start)) / (end - start))) : 0);
    return svg`<svg class="lag-strip" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="log" width="100" height="10"></rect><rect class="seen" width=${at(high_watermark)} height="10"></rect>
      ${committed === null ? "" : svg`<rect class="done" width=${at(committed)} height="10"></rect>`}</svg>`;
  }

  assignment(view, group, partitions) {
    const rows = memberRows(group, partitions);
    const lags = lagRows(view, group, partitions);
    const line = (name, cell) => html`<tr class="sum"><th scope="row">${t(`groups.${name}`)}</th>${lags.map((lag) => html`<td>${cell(lag)}</td>`)}</tr>`;
    return html`<section class="assignment" aria-label=${t("groups.assignment")}>
      <h3>${t("groups.assignment")} <span class="dim">${t("groups.members", { n: rows.length })}</span></h3>
      ${partitions.length || rows.length ? html`<div class="scroll-x" tabindex="0"><table class="owners">
        <thead><tr><td></td>${partitions.map((name) => html`<th scope="col"><button @click=${() => select(`partition:${name}`)}>${name}</button></th>`)}</tr></thead>
        <tbody>${rows.map((row) => this.member(view, row, partitions))}</tbody>
        <tbody>${line("strip", (lag) => this.strip(lag))}${line("committed", ({ committed }) => unlessMasked(committed ?? "—"))}
          ${line("high_watermark", ({ high_watermark }) => high_watermark)}${line("lag", ({ lag }) => unlessMasked(lag === null ? "—" : html`<b class=${lag ? "behind" : ""}>${lag}</b>`))}</tbody>
      </table></div>
      <p class="legend dim"><span class="swatch owned"></span>${t("groups.legend_owned")} <span class="swatch was"></span>${t("groups.legend_was")}
        <span class="swatch done"></span>${t("groups.committed")} <span class="swatch seen"></span>${t("groups.high_watermark")}</p>` : nothing(t("groups.nobody"))}
    </section>`;
  }

  render() {
    if (shown.value !== "groups") return html``;
    const { view, at_us } = moment.value;
    const names = groupNames(view);
    if (!names.length) return html`<div class="client-screen">${nothing(t("empty.groups"))}<p class="empty-line"><code>consumer start c1 --group g1 --topic orders</code></p></div>`;
    const key = names.includes(chosen.value) ? chosen.value : names[0];
    const group = view.groups[key];
    return html`<div class="client-screen">${this.head(view, key, names, at_us)}
      ${this.assignment(view, group, partitionsOf(view, group))}${this.chart(view, key, at_us)}</div>`;
  }
}
customElements.define("hw-groups", HwGroups);
