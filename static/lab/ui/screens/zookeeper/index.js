// The screen of the control plane: ZooKeeper's tree with its watches, and the controller with its queue and state machines.
import { controllerQueue, countByState, firedWatches, partOfWay, watchesOf } from "../../../core/view/controller.js";
import { byName, laneOrder, nodesByKind, partitionNames } from "../../../core/view/selectors.js";
import { durationText } from "../../../core/player/timemap.js";
import { boxOf } from "../../../draw/zoom.js";
import { HwElement, html, icon } from "../../kit/element.js";
import { onValue } from "../../kit/events.js";
import { instant } from "../../kit/format.js";
import { t } from "../../kit/i18n.js";
import { nothing } from "../../parts/common.js";
import { CHARTS, stateChart } from "../../kit/statechart.js";
import { effect, moment, partition, player, select, selection, shown, signal } from "../../store/state.js";
import { seekSeq } from "../../store/time.js";
import { labelled, nodeName, term, sentence } from "../../kit/words.js";

/** @import { AnyEvent, EventOf } from "../../../core/events/events.d.ts" */
/** @import { BrokerNode, ControllerEvent, Rpc, View } from "../../../core/view/view.d.ts" */

const MAX_EFFECTS = 30;
const SVG = "http://www.w3.org/2000/svg";
const NONE = { partition: "NonExistentPartition", replica: "NonExistentReplica" };

/** The broker whose replica the chart shows; 0: the leader's. */
const chartBroker = signal(0);

class HwZookeeper extends HwElement {
  #resizes = new ResizeObserver(() => this.#drawWatches());
  /** The tree draws its rows by itself, which may be after this element is done. */
  #rows = new MutationObserver(() => this.#drawWatches());
  /** @type {Element | null} */
  #tree = null;

  connectedCallback() {
    super.connectedCallback();
    effect(() => void this.toggleAttribute("hidden", shown.value !== "zookeeper"));
    this.#resizes.observe(this);
    this.addEventListener("scroll", () => this.#drawWatches(), { capture: true, passive: true });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#resizes.disconnect();
    this.#rows.disconnect();
    this.#tree = null;
  }

  updated() {
    const tree = this.querySelector(".zk-tree");
    if (tree !== this.#tree) {
      this.#rows.disconnect();
      this.#tree = tree;
      if (tree) this.#rows.observe(tree, { childList: true, subtree: true });
    }
    this.#drawWatches();
  }

  /** Watches that have fired: a dotted line from the znode to the broker, with the message on its way. The lines
   *  depend on the positions of the rows. */
  #drawWatches() {
    const layer = this.querySelector(".watch-lines");
    const top = this.querySelector(".zk-top");
    const list = this.querySelector(".zk-tree");
    if (!layer || !top || !list) return;
    const [area, tree] = [boxOf(top), boxOf(list)];
    const { view, at_us } = moment.peek();
    const lines = firedWatches(view).flatMap((watch) => {
      const session = this.querySelector(`.zk-session[data-node="${watch.broker}"]`);
      const znode = this.#rowOf(watch.path);
      if (!session || !znode) return [];
      const [card, row] = [boxOf(session), boxOf(znode)];
      const y1 = Math.min(tree.y + tree.h - 4, Math.max(tree.y + 4, row.y + row.h / 2)) - area.y;
      return [{ watch, x1: row.x + row.w - area.x - 4, y1, x2: card.x - area.x, y2: card.y + card.h / 2 - area.y }];
    });
    layer.replaceChildren(...lines.flatMap(({ watch, x1, y1, x2, y2 }) => {
      const bend = Math.max(18, (x2 - x1) / 2);
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`);
      const place = path.getPointAtLength(path.getTotalLength() * partOfWay(watch.rpc, at_us));
      const dot = document.createElementNS(SVG, "circle");
      for (const [name, value] of Object.entries({ cx: place.x, cy: place.y, r: 4 })) dot.setAttribute(name, String(value));
      return [path, dot];
    }));
  }

  /** The row of a path, or of its closest ancestor that the open tree shows. @param {string} path */
  #rowOf(path) {
    for (let part = path; ; part = part.slice(0, part.lastIndexOf("/")) || "/") {
      const row = this.querySelector(`.znode[data-path="${CSS.escape(part)}"]`);
      if (row || part === "/") return row;
    }
  }

  /** @param {View} view @param {number} at_us @param {string} name */
  session(view, at_us, name) {
    const node = /** @type {BrokerNode} */ (view.nodes[name]);
    const isController = view.controller.broker === node.broker_id;
    const what = `broker:${name}`;
    const fired = firedWatches(view).filter((watch) => watch.broker === name);
    return html`<button class="zk-session ${node.state} ${isController ? "control" : ""}" data-node=${name}
      aria-pressed=${selection.value === what} @click=${() => select(what)}>
      <b>${nodeName(name)}</b>${isController ? html`<span class="tag control">${t("node.controller")}</span>` : ""}
      <span class="dim">${node.session === null ? t("zk.no_session")
        : t("znode.session", { n: node.session })} · ${t(`node.${node.state}`)}</span>
      <span class="dim">${t("zk.watches", { n: watchesOf(view, name) })}</span>
      ${fired.map(({ rpc, kind }) => html`<span class="fired">${term(kind)} ${rpc.held
        ? t("zk.held") : t("zk.in", { time: durationText(Math.max(0, rpc.due_us - at_us)) })}</span>`)}</button>`;
  }

  render() {
    if (shown.value !== "zookeeper") return html``;
    const { view, at_us } = moment.value;
    if (!Object.keys(view.zk).length) return nothing(t("empty.znodes"));
    const brokers = nodesByKind(view).broker;
    return html`<div class="zk-top">
        <section class="zk-tree" aria-label=${t("tree.title")}><hw-tree></hw-tree></section>
        <section class="zk-sessions" aria-label=${t("zk.sessions")}>
          <h3>${t("zk.sessions")}</h3>${brokers.map((name) => this.session(view, at_us, name))}</section>
        <section class="zk-data" aria-label=${t("zk.data")}>${selection.value.startsWith("znode:") ? html`<hw-znode></hw-znode>`
          : nothing(t("zk.choose"))}</section>
        <svg class="watch-lines" aria-hidden="true"></svg>
      </div>
      <hw-controller></hw-controller>`;
  }
}
customElements.define("hw-zookeeper", HwZookeeper);

class HwController extends HwElement {
  /** The event of the controller whose effects are shown; 0: the last. */
  #chosen = signal(0);

  /** @param {View} view @param {number} at_us */
  queue(view, at_us) {
    const waiting = controllerQueue(view);
    /** @param {{ id: string, rpc: Rpc }} waiting */
    const row = ({ id, rpc }) => html`<li><button class="rpc" @click=${() => select(`rpc:${id}`)}>
      <b>${labelled(rpc.label) || rpc.api}</b><span class="dim">${rpc.source}</span>
      <span class="mono ${rpc.held ? "bad" : "dim"}">${rpc.held
        ? t("zk.held") : t("zk.in", { time: durationText(Math.max(0, rpc.due_us - at_us)) })}</span></button></li>`;
    return html`<h4>${t("controller.queue")} <span class="mono dim">${waiting.length}</span></h4>
      ${waiting.length ? html`<ol class="queue">${waiting.map(row)}</ol>` : html`<p class="dim">${t("controller.queue_empty")}</p>`}`;
  }

  /** The effects of an event of the controller at its instant, as far as the history is loaded. @param {ControllerEvent} event */
  effects({ seq, at_us }) {
    const cause = player.event(seq)?.cause;
    /** @type {AnyEvent[]} */
    const found = [];
    for (let next = seq + 1; next <= player.seq && found.length < MAX_EFFECTS; next++) {
      const event = player.event(next);
      if (!event || event.at_us !== at_us || event.cause !== cause || event.kind === "ControllerEventProcessed") break;
      found.push(event);
    }
    return found;
  }

  /** @param {View} view */
  events(view) {
    const latest = [...view.controller_events].reverse();
    if (!latest.length) return html`<p class="dim">${t("controller.nothing")}</p>`;
    const chosen = latest.find(({ seq }) => seq === this.#chosen.value) ?? latest[0];
    /** @param {ControllerEvent} event */
    const row = (event) => html`<li class=${event === chosen ? "on" : ""}>
      <button class="handled" aria-expanded=${event === chosen} @click=${() => (this.#chosen.value = event.seq)}>
        <b class="mono">${event.name}</b>
        <span class="mono dim">${event.about}</span><span class="who">b${event.broker}</span><span
          class="mono dim">${instant(event.at_us)}</span></button>
      ${event === chosen ? this.detail(event) : ""}</li>`;
    return html`<ol class="handled-list">${latest.map(row)}</ol>`;
  }

  /** @param {ControllerEvent} event */
  detail(event) {
    const effects = this.effects(event);
    return html`<div class="effects">
      ${effects.length ? html`<ul>${effects.map((one) => html`<li>${sentence(one)}</li>`)}</ul>`
        : html`<p class="dim">${t("controller.no_effect")}</p>`}
      <button class="btn small" @click=${() => seekSeq(event.seq)}>${t("alarm.at")}</button></div>`;
  }

  /**
   * From which state the last step brought a partition or replica into `state`; "" when it did not.
   * @param {(event: AnyEvent) => (EventOf<"PartitionStateChanged"> | EventOf<"ReplicaStateChanged">)["data"] | null} pick the
   *   change, if it is one of it
   * @param {string} state
   */
  #from(pick, state) {
    const last = moment.value.mode === "pause" ? player.lastEvents : [];
    return last.map(pick).findLast((change) => change?.state === state)?.from_state ?? "";
  }

  /** @param {View} view @param {string[]} names */
  partitionChart(view, names) {
    const name = names.includes(partition.value) ? partition.value : names[0];
    const states = view.controller_partitions;
    const active = name ? states[name] ?? NONE.partition : "";
    const from = name ? this.#from((event) => (event.kind === "PartitionStateChanged" && event.data.partition === name
      ? event.data : null), active) : "";
    const choose = onValue((chosen) => (partition.value = chosen));
    return html`<section class="chart" aria-label=${t("controller.partitions")}><h3>${t("controller.partitions")}
        ${names.length ? html`<select class="chip" aria-label=${t("controller.which_partition")} @change=${choose}>
          ${names.map((one) => html`<option .selected=${one === name}>${one}</option>`)}</select>` : ""}</h3>
      <div class="chart-box" tabindex="0">${stateChart("partition",
        { active, from, counts: countByState(states), label: t("controller.is", { what: name ?? "", state: active }) })}
        ${this.meaning(name, active)}</div></section>`;
  }

  /** @param {View} view @param {string} name */
  replicaChart(view, name) {
    const of = view.partitions[name];
    const ids = of ? laneOrder(of) : [];
    const id = ids.includes(chartBroker.value) ? chartBroker.value : ids[0];
    const replica = id === undefined ? "" : `${name}@b${id}`;
    const states = view.controller_replicas;
    const active = replica ? states[replica] ?? NONE.replica : "";
    const from = replica ? this.#from((event) => (event.kind === "ReplicaStateChanged" && event.data.replica === replica
      ? event.data : null), active) : "";
    return html`<section class="chart" aria-label=${t("controller.replicas")}><h3>${t("controller.replicas")}
        ${ids.length ? html`<span class="seg" role="group" aria-label=${t("controller.which_replica")}>
          ${ids.map((one) => html`<button aria-pressed=${one === id}
            @click=${() => (chartBroker.value = one)}>b${one}</button>`)}</span>` : ""}</h3>
      <div class="chart-box" tabindex="0">${stateChart("replica",
        { active, from, counts: countByState(states), label: t("controller.is", { what: replica, state: active }) })}
        ${this.meaning(replica, active)}</div></section>`;
  }

  /** @param {string} name @param {string} state */
  meaning(name, state) {
    return state ? html`<p class="meaning"><b class="mono">${name}</b> ${t(`state.${state}`)}</p>`
      : html`<p class="meaning dim">${t("controller.no_partition")}</p>`;
  }

  render() {
    const { view, at_us } = moment.value;
    const { broker, controller_epoch } = view.controller;
    const names = [...new Set([...partitionNames(view, null), ...Object.keys(view.controller_partitions)])].sort(byName);
    const name = names.includes(partition.value) ? partition.value : names[0];
    return html`<section class="controller" aria-label=${t("controller.title")}>
      <div class="controller-side">
        <h3>${icon("act")}${broker < 0 ? t("controller.none") : html`${t("controller.is_broker", { n: broker })} <span
          class="mono dim">${t("controller.epoch", { epoch: controller_epoch })}</span>`}</h3>
        ${this.queue(view, at_us)}
        <h4>${t("controller.handled")}</h4>${this.events(view)}
      </div>
      <div class="charts">${CHARTS.partition ? html`${this.partitionChart(view, names)}${this.replicaChart(view, name)}` : ""}</div>
    </section>`;
  }
}
customElements.define("hw-controller", HwController);
