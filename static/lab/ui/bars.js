// The small parts around the picture: rail, branches, sharing, the bar above the picture, and what to say when it is empty.
import { durationText } from "../core/timemap.js";
import { copy, here, overlay } from "./actions.js";
import { addressOf } from "./address.js";
import { HwElement, html, icon } from "./element.js";
import { exercises } from "./exercise.js";
import { instant } from "./format.js";
import { t } from "./i18n.js";
import { sheetOpen } from "./inspector.js";
import { inline } from "./words.js";
import { consoleOpen, effect, exercise, index, moment, panels, partition, player, shown, sideTab, tab } from "./state.js";

const INVARIANTS = 9;

export const share = () => copy(location.origin + addressOf({ withInstant: true }), t("share.done", { at: instant(player.at_us) }));

/** Opens a tab of the inspector, also on a phone. */
export function openTab(name) {
  tab.value = name;
  panels.value = { ...panels.value, inspector: true };
  sheetOpen.value = true;
}

class HwRail extends HwElement {
  render() {
    const { view } = moment.value;
    const alarms = Object.keys(view.alarms).length;
    const item = (name, key, action, current, badge) => html`<button title="${t(`rail.${name}`)}${key ? ` ( ${key} )` : ""}" aria-label=${t(`rail.${name}`)} aria-pressed=${Boolean(current)} @click=${action}>${icon({ files: "disk", znodes: "tree", alarms: "alarm" }[name] ?? name)}${badge ? html`<span class="badge">${badge}</span>` : ""}</button>`;
    return html`
      ${item("lab", "", () => ((shown.value = "picture"), (sheetOpen.value = false)), shown.value === "picture" && !sheetOpen.value)}
      ${item("act", "A", () => toggleSide("act"))}
      ${item("files", "", () => openTab("files"), tab.value === "files")}
      ${item("znodes", "", () => openTab("znodes"), tab.value === "znodes")}
      ${item("alarms", "", () => openTab("alarms"), tab.value === "alarms", alarms)}
      ${item("console", "C", () => (consoleOpen.value = !consoleOpen.value), consoleOpen.value)}
      <a href=${`${this.dataset.analytics}?t=${(moment.value.at_us / 1e6).toFixed(6)}`} title=${t("analytics.title")} aria-label=${t("analytics.title")}>${icon("chart")}</a>
      <div class="spacer"></div>
      ${item("help", "?", () => (overlay.value = { kind: "help" }))}
      <a class="wide-only" href="/runs/" title=${t("runs.title")} aria-label=${t("runs.title")}>${icon("runs")}</a>`;
  }
}
customElements.define("hw-rail", HwRail);

/** Shows a tab of the side panel, or hides the panel when it is shown already. */
export function toggleSide(name) {
  const open = panels.value.side && sideTab.value === name;
  sideTab.value = name;
  panels.value = { ...panels.value, side: !open };
}

class HwBranches extends HwElement {
  render() {
    const branches = index.value?.branches ?? [];
    const forks = branches.length - 1;
    const row = ({ branch, parent, parent_at_us, last_at_us }) => html`<li><a class="branch" href="/r/${here.run}/${branch}" aria-current=${branch === here.branch ? "true" : "false"}>
      ${icon("fork")}<b>${branch}</b><span class="dim">${parent ? t("branch.from", { parent, at: instant(parent_at_us) }) : t("branch.root")}</span><span class="mono dim right">${durationText(last_at_us)}</span></a></li>`;
    return html`<details class="more pop"><summary class="chip" title=${t("branch.title")}>${icon("fork")}${here.branch}${forks > 0 ? html` <span class="dim">· ${t("branch.forks", { n: forks })}</span>` : ""}</summary>
      <div class="menu"><div class="cap">${t("branch.title")}</div><ul>${branches.map(row)}</ul></div></details>`;
  }
}
customElements.define("hw-branches", HwBranches);

class HwShare extends HwElement {
  render() {
    return html`<button class="chip share" title="${t("share.title")} ( S )" @click=${() => share()}>${icon("link")}<span>${t("share.title")}</span> <kbd>S</kbd></button>`;
  }
}
customElements.define("hw-share", HwShare);

/** Tags that say at a glance how the cluster is. Healthy = one green tag. */
function health(view) {
  const alarms = Object.values(view.alarms);
  const partitions = Object.entries(view.partitions);
  const leaderless = partitions.filter(([, it]) => it.leader < 0 && it.leader_epoch >= 0);
  const under = partitions.filter(([, it]) => it.leader >= 0 && it.isr.length < it.replicas.length);
  const names = (list) => list.map(([name]) => name).slice(0, 2).join(", ") + (list.length > 2 ? " …" : "");
  return html`${alarms.length ? html`<button class="tag bad" @click=${() => openTab("alarms")}>✕ ${t("health.alarms", { n: alarms.length })}</button>` : html`<span class="tag ok" title=${t("health.invariants_title")}>✓ ${t("health.invariants", { n: INVARIANTS })}</span>`}
    ${leaderless.length ? html`<span class="tag bad">✕ ${t("health.leaderless", { what: names(leaderless) })}</span>` : ""}
    ${under.length ? html`<span class="tag warn">▲ ${t("health.under", { what: names(under) })}</span>` : ""}`;
}

class HwStageBar extends HwElement {
  render() {
    const { view } = moment.value;
    const topics = Object.keys(view.topics);
    const current = partition.value.replace(/-\d+$/, "");
    return html`<div class="cv-h">
      <button class="chip drawer" aria-pressed=${panels.value.side} title="${t("side.title")} ( E )" @click=${() => toggleSide(sideTab.value)}>${icon("left")}<span>${t(`side.${sideTab.value}`)}</span></button>
      <span class="seg" role="group" aria-label=${t("stage.view")}>
        <button aria-pressed=${shown.value === "picture"} @click=${() => (shown.value = "picture")}>${t("stage.picture")}</button>
        <button aria-pressed=${shown.value === "table"} title="${t("stage.table_title")} ( V )" @click=${() => (shown.value = "table")}>${icon("table")}${t("stage.table")}</button></span>
      ${topics.length > 1 ? html`<select class="chip" aria-label=${t("stage.topic")} @change=${(event) => (partition.value = `${event.target.value}-0`)}>${topics.map((name) => html`<option ?selected=${name === current}>${name}</option>`)}</select>` : topics.length ? html`<span class="chip topic">${t("stage.topic")} <b>${topics[0]}</b></span>` : ""}
      <span class="spacer"></span><span class="inv" role="status">${health(view)}</span>
    </div>`;
  }
}
customElements.define("hw-stage-bar", HwStageBar);

class HwEmpty extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => document.getElementById("main").classList.toggle("table-shown", shown.value === "table"));
    effect(() => {
      const { side, inspector } = panels.value;
      document.getElementById("lab").classList.toggle("no-side", !side);
      document.getElementById("lab").classList.toggle("no-inspector", !inspector);
    });
  }

  render() {
    const { view, connection, seq } = moment.value;
    if (!seq && connection === "connecting") return html`<div class="nothing"><p>${t("empty.loading")}</p></div>`;
    if (!seq || Object.keys(view.topics).length || shown.value === "table") return html``;
    const brokers = Object.values(view.nodes).filter(({ kind }) => kind === "broker");
    const ready = brokers.some(({ state }) => state === "up");
    return html`<div class="nothing"><p>${inline(ready ? t("empty.topics", { n: brokers.length }) : t("empty.brokers"))}</p>
      ${ready ? html`<span class="row"><button class="btn pri" @click=${() => (overlay.value = { kind: "topic" })}>${t("topic.create_orders")}</button>${exercises.length && !exercise.value ? html`<button class="btn" @click=${() => ((panels.value = { ...panels.value, side: true }), (sideTab.value = "exercise"))}>${t("empty.open_exercise")}</button>` : ""}</span>` : ""}</div>`;
  }
}
customElements.define("hw-empty", HwEmpty);
