// The small parts around the picture: rail, branches, sharing, the bar above the picture, and the text when it is empty.
import { INVARIANTS, lostRecords, sortedAlarms } from "../../core/view/alarms.js";
import { clientsFromOutside, partitionNames, topicNames } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { copy, here, isAlone, overlay } from "../store/api.js";
import { addressOf } from "../store/address.js";
import { HwElement, byId, html, icon } from "../kit/element.js";
import { onValue } from "../kit/events.js";
import { exercises } from "../store/exercises.js";
import { toggleConsole } from "../store/console.js";
import { SCREEN_KEYS } from "../store/keys.js";
import { instant } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { consoleOpen, effect, exercise, index, moment, ownWelcome, panels, partition, player, SCREENS, sheetOpen, shown,
  sideTab, tab, welcome } from "../store/state.js";
import { isNarrow } from "../store/room.js";
import { inline } from "../kit/words.js";

/** @import { BranchInfo } from "../../core/recording/recording.js" */
/** @import { View } from "../../core/view/view.d.ts" */

export const share = () => copy(location.origin + addressOf({ withInstant: true, withWindow: true }),
  t("share.done", { at: instant(player.at_us) }));

/** Opens a tab of the inspector, also on a phone. @param {string} name */
export function openTab(name) {
  tab.value = name;
  panels.value = { ...panels.value, inspector: true };
  sheetOpen.value = true;
}

/** On a phone the parts of the page are one below the other: brings one into view. @param {string} part */
function bring(part) {
  if (!matchMedia("(max-width: 820px)").matches) return;
  requestAnimationFrame(() => document.querySelector(part)?.scrollIntoView({ block: "start", behavior: "instant" }));
}

/** Shows a tab of the side panel, or hides the panel when it is shown already. @param {string} name */
export function toggleSide(name) {
  const open = panels.value.side && sideTab.value === name;
  sideTab.value = name;
  panels.value = { side: !open, inspector: isNarrow.peek() ? open : panels.value.inspector };
  bring(".side");
}

/** Shows a screen in the place of the picture. @param {string} name */
function showScreen(name) {
  shown.value = name;
  sheetOpen.value = false;
  bring(".canvas");
}

function showPicture() {
  shown.value = "picture";
  sheetOpen.value = false;
  bring(".canvas");
}

/** @typedef {{ symbol?: string, key?: string, press: () => void, pressed?: boolean, badge?: number }} Button */

class HwRail extends HwElement {
  /** @param {string} name @param {Button} button */
  item(name, { symbol = name, key = "", press, pressed = false, badge = 0 }) {
    const label = t(`rail.${name}`);
    return html`<button title=${key ? `${label} ( ${key} )` : label} aria-label=${label} aria-pressed=${pressed} @click=${press}>
      ${icon(symbol)}${badge ? html`<span class="badge">${badge}</span>` : ""}</button>`;
  }

  render() {
    const alarms = Object.keys(moment.value.view.alarms).length;
    /** @param {string} name */
    const open = (name) => ({ press: () => openTab(name), pressed: tab.value === name });
    /** @param {string} name */
    const screen = (name) => ({ press: () => showScreen(name), pressed: shown.value === name });
    return html`
      ${this.item("lab", { press: showPicture, pressed: shown.value === "picture" && !sheetOpen.value })}
      ${isAlone ? "" : html`${this.item("act", { key: "A", press: () => toggleSide("act") })}
        ${this.item("files", { symbol: "disk", ...open("files") })}`}
      ${this.item("znodes", { symbol: "tree", key: "N", ...screen("zookeeper") })}
      ${this.item("groups", { key: "G", ...screen("groups") })}
      ${this.item("producers", { symbol: "produce", key: "O", ...screen("producers") })}
      ${this.item("transactions", { symbol: "transaction", key: "R", ...screen("transactions") })}
      ${this.item("alarms", { symbol: "alarm", key: "L", badge: alarms, ...screen("alarms") })}
      ${isAlone ? "" : html`${this.item("console", { key: "C", press: toggleConsole, pressed: consoleOpen.value })}
        ${ownWelcome.value?.rights.includes("export") === false ? "" : html`<a
          href=${`${this.dataset.analytics}?t=${(moment.value.at_us / 1e6).toFixed(6)}`} title=${t("analytics.title")}
          aria-label=${t("analytics.title")}>${icon("chart")}</a>`}`}
      <div class="spacer"></div>
      ${this.item("help", { key: "?", press: () => (overlay.value = { kind: "help" }) })}
      ${isAlone ? "" : html`<a class="wide-only" href="/runs/" title=${t("runs.title")}
        aria-label=${t("runs.title")}>${icon("runs")}</a>`}`;
  }
}
customElements.define("hw-rail", HwRail);

class HwBranches extends HwElement {
  /** @param {BranchInfo} info */
  branch({ branch, parent, parent_at_us, last_at_us }) {
    const origin = parent ? t("branch.from", { parent, at: instant(parent_at_us) }) : t("branch.root");
    return html`<li class="row tight"><a class="branch" href="/r/${here.run}/${branch}" aria-current=${branch === here.branch
      ? "true" : "false"}>
      ${icon("fork")}<b>${branch}</b> <span class="dim">${origin}</span>
      <span class="mono dim right">${durationText(last_at_us)}</span></a>
      ${branch === here.branch ? "" : html`<a class="ghost"
        href="/compare/?a=${here.run}/${here.branch}&b=${here.run}/${branch}&t=${(moment.value.at_us / 1e6).toFixed(6)}"
        title=${t("branch.compare")} aria-label="${t("branch.compare")}: ${branch}">${icon("table")}</a>`}</li>`;
  }

  render() {
    const branches = index.value?.branches ?? [];
    const forks = branches.length - 1;
    return html`<details class="more pop">
      <summary class="chip" title=${t("branch.title")}>${icon("fork")}${here.branch}
        ${forks > 0 ? html`<span class="dim">· ${t("branch.forks", { n: forks })}</span>` : ""}</summary>
      <div class="menu"><div class="cap">${t("branch.title")}</div><ul>${branches.map((one) => this.branch(one))}</ul>
        <a class="branch" href="/compare/?a=${here.run}/${here.branch}">${icon("table")}${t("runs.compare")}</a>
        ${welcome.value?.rights.includes("export") ? html`<button class="branch" @click=${() => (overlay.value = { kind: "page" })}>
          ${icon("down")}${t("save_page.action")}</button>` : ""}</div>
    </details>`;
  }
}
customElements.define("hw-branches", HwBranches);

class HwShare extends HwElement {
  render() {
    return html`<button class="chip share" title="${t("share.title")} ( S )" @click=${share}>
      ${icon("link")}<span>${t("share.title")}</span> <kbd>S</kbd></button>`;
  }
}
customElements.define("hw-share", HwShare);

/** The buttons beside "picture", each with its symbol. */
const SCREEN_BUTTONS = /** @type {const} */ ([
  { name: "disk", symbol: "disk" },
  { name: "zookeeper", symbol: "tree" },
  { name: "groups", symbol: "groups" },
  { name: "producers", symbol: "produce" },
  { name: "transactions", symbol: "transaction" },
  { name: "alarms", symbol: "alarm" },
  { name: "table", symbol: "table" },
]);

/** Whether the disk is being read from the lab. */
const SCREENS_HERE = SCREEN_BUTTONS.filter(({ name }) => !isAlone || name !== "disk");

/** Names of partitions, the first two of them. @param {string[]} names */
const some = (names) => names.slice(0, 2).join(", ") + (names.length > 2 ? " …" : "");

class HwStageBar extends HwElement {
  /** Tags that show the state of the cluster at a glance. Healthy: one green tag. @param {View} view */
  health(view) {
    const { unexplained, explained } = sortedAlarms(view);
    const { records } = lostRecords(view);
    const { mode, isPast } = moment.value;
    const waiting = mode === "pause" && !isPast && clientsFromOutside(view).length > 0;
    /** @param {unknown[]} list @param {"bad" | "warn"} tone @param {string} text */
    const alarms = (list, tone, text) => (list.length
      ? html`<button class="tag ${tone}" @click=${() => showScreen("alarms")}>${text}</button>` : "");
    const names = partitionNames(view, null);
    const leaderless = names.filter((name) => view.partitions[name].leader < 0 && view.partitions[name].leader_epoch >= 0);
    const under = names.filter((name) => {
      const { leader, isr, replicas } = view.partitions[name];
      return leader >= 0 && isr.length < replicas.length;
    });
    /** @param {string[]} names @param {"bad" | "warn"} tone @param {string} mark @param {"leaderless" | "under"} key */
    const of = (names, tone, mark, key) => {
      if (!names.length) return "";
      const words = t(`health.${key}`);
      return html`<span class="tag ${tone}" title="${words}: ${names.join(", ")}">${mark} <span class="words">${words}</span><span
        class="what"> · ${some(names)}</span></span>`;
    };
    // Where not all of them fit, the first ones are shown.
    return html`${alarms(unexplained, "bad", `✕ ${t("health.alarms", { n: unexplained.length })}`)}
      ${of(leaderless, "bad", "✕", "leaderless")}
      ${alarms(explained, "warn", `▲ ${t("health.explained", { n: explained.length })}`)}
      ${records ? html`<button class="tag" @click=${() => showScreen("alarms")}>○ ${t("health.lost", { n: records })}</button>` : ""}
      ${of(under, "warn", "▲", "under")}
      ${waiting ? html`<span class="tag warn" title=${t("connect.time")}>▲ ${t("health.waiting")}</span>` : ""}
      ${unexplained.length + explained.length ? "" : html`<span class="tag ok"
        title=${t("health.invariants_title")}>✓ ${t("health.invariants", { n: INVARIANTS.length })}</span>`}`;
  }

  /** @param {View} view */
  topic(view) {
    const names = topicNames(view);
    const current = view.partitions[partition.value]?.topic;
    if (names.length < 2) return names.length ? html`<span class="chip topic"
      title=${names[0]}>${t("stage.topic")} <b>${names[0]}</b></span>` : "";
    const choose = onValue((topic) => (partition.value = `${topic}-0`));
    return html`<select class="chip" aria-label=${t("stage.topic")} @change=${choose}>
      ${names.map((name) => html`<option .selected=${name === current}>${name}</option>`)}</select>`;
  }

  connectedCallback() {
    super.connectedCallback();
    // On a phone the bar is scrolled sideways so that the chosen screen is visible.
    effect(() => {
      void shown.value;
      requestAnimationFrame(() => this.#bringSideways());
    });
  }

  /** The bar alone is moved: on a phone the page is scrolled, too, and stays where it is. */
  #bringSideways() {
    const [bar, chosen] = [this.querySelector(".cv-h"), this.querySelector(".seg [aria-pressed=true]")];
    if (!bar || !chosen) return;
    const [all, one] = [bar.getBoundingClientRect(), chosen.getBoundingClientRect()];
    bar.scrollLeft += Math.min(0, one.left - all.left) || Math.max(0, one.right - all.right);
  }

  render() {
    const { view } = moment.value;
    const side = t(`side.${sideTab.value}`);
    return html`<h2 class="sr">${t(`stage.${shown.value}`)}</h2><div class="cv-h">
      ${isAlone ? "" : html`<button class="chip drawer" aria-pressed=${panels.value.side} title="${side} ( E )"
        @click=${() => toggleSide(sideTab.value)}>${icon("left")}<span>${side}</span></button>`}
      <span class="seg" role="group" aria-label=${t("stage.view")}>
        <button aria-pressed=${shown.value === "picture"} @click=${() => (shown.value = "picture")}>${t("stage.picture")}</button>
        ${SCREENS_HERE.map(({ name, symbol }) => html`<button aria-pressed=${shown.value === name}
          title="${t(`stage.${name}_title`)} ( ${SCREEN_KEYS[name]} )"
            @click=${() => (shown.value = name)}>${icon(symbol)}${t(`stage.${name}`)}</button>`)}
      </span>
      ${["picture", "table"].includes(shown.value) ? this.topic(view) : ""}
      <span class="spacer"></span><span class="inv" role="status">${this.health(view)}</span>
      <button class="chip drawer" aria-pressed=${panels.value.inspector} title=${t("inspector.title")} aria-label=${t("inspector.title")}
        @click=${() => (panels.value = { ...panels.value, inspector: !panels.value.inspector })}>${icon("find")}</button>
    </div>`;
  }
}
customElements.define("hw-stage-bar", HwStageBar);

function openExercises() {
  panels.value = { ...panels.value, side: true };
  sideTab.value = "exercise";
}

class HwEmpty extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    const lab = byId("lab");
    effect(() => void byId("main").classList.toggle("table-shown", shown.value !== "picture"));
    effect(() => void lab.classList.toggle("screen-shown", SCREENS.includes(shown.value)));
    // Nothing is shown until the state of the run has been received.
    effect(() => void lab.classList.toggle("loading", !moment.value.seq));
    effect(() => void lab.classList.toggle("no-side", !panels.value.side));
    effect(() => void lab.classList.toggle("no-inspector", !panels.value.inspector));
  }

  render() {
    const { view, seq } = moment.value;
    if (!seq) return html`<div class="nothing"><p role="status">${t("empty.loading")}</p></div>`;
    if (topicNames(view).length || shown.value !== "picture") return html``;
    const brokers = Object.values(view.nodes).filter(({ kind }) => kind === "broker");
    if (!brokers.some(({ state }) => state === "up")) return html`<div class="nothing"><p>${t("empty.brokers")}</p></div>`;
    // A lesson itself says which topic to create.
    const isGuided = isAlone || exercise.value !== null;
    return html`<div class="nothing">
      <p>${inline(t(isGuided ? "alone.no_topics" : "empty.topics", { n: brokers.length }))}</p>
      <span class="row">
        ${isGuided ? "" : html`<button class="btn pri" data-takes="act" @click=${() => (overlay.value = { kind: "topic" })}>${
          t("topic.create_orders")}</button>`}
        ${exercises.length && !exercise.value && !isAlone
          ? html`<button class="btn" @click=${openExercises}>${t("empty.open_exercise")}</button>` : ""}
      </span>
    </div>`;
  }
}
customElements.define("hw-empty", HwEmpty);
