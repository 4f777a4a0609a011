// The side panel "Act": brokers, topics, producing, consuming, links. Each button sends a line that the console shows.
import { linkId, nodesByKind, topicNames } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { boxOf } from "../../draw/zoom.js";
import { overlay } from "../store/api.js";
import { HwElement, html, icon } from "../kit/element.js";
import { onValue } from "../kit/events.js";
import { t } from "../kit/i18n.js";
import { choicesFor, openMenuOf } from "../parts/menus.js";
import { lineButton } from "../parts/common.js";
import { moment, partition, select, selection, signal } from "../store/state.js";
import { nodeName } from "../kit/words.js";

/** @import { Link, Topic, View } from "../../core/view/view.d.ts" */

/** A part of the panel that can be folded. @param {unknown} title @param {unknown} extra @param {unknown} body */
const fold = (title, extra, body) => html`<details class="sec fold" open>
  <summary><h3>${title}<span>${extra}</span></h3></summary>${body}</details>`;

/** The main action of a broker in the panel: kill if it is up, start if it is down. @param {View} view @param {string} name */
function firstChoice(view, name) {
  const choices = choicesFor(view, `broker:${name}`);
  return view.nodes[name].state === "up" ? choices.find(({ harm }) => harm) : choices[0];
}

class HwAct extends HwElement {
  /** @param {View} view @param {string} name */
  broker(view, name) {
    const node = view.nodes[name];
    const what = `broker:${name}`;
    const first = firstChoice(view, name);
    const label = t("menu.of", { what: nodeName(name) });
    /** @param {Event} event */
    const open = ({ currentTarget }) => {
      const { x, y, h } = boxOf(/** @type {Element} */ (currentTarget));
      openMenuOf(what, x, y + h + 4);
    };
    return html`<li class=${selection.value === what ? "on" : ""}>
      <button class="pick" @click=${() => select(what)}>
        <b>${nodeName(name)}</b><span class="state ${node.state}">${t(`node.${node.state}`)}</span>
        ${node.kind === "broker" && view.controller.broker === node.broker_id
          ? html`<span class="tag control">${t("node.controller")}</span>` : ""}
      </button>
      ${first ? lineButton(t(`act.${first.line.split(" ")[1]}`), first.line, first.harm ? "danger" : "") : ""}
      <button class="ghost" aria-haspopup="menu" aria-label=${label} title=${label} @click=${open}>${icon("more")}</button>
    </li>`;
  }

  /** @param {string} name @param {Topic} topic */
  topic(name, { partitions, replication_factor }) {
    const pick = () => {
      partition.value = `${name}-0`;
      select(`partition:${name}-0`);
    };
    return html`<li>
      <button class="pick" title=${name} @click=${pick}><b>${name}</b><span
        class="dim mono">${partitions} × ${replication_factor}</span></button>
      ${lineButton(t("act.describe"), `kafka-topics.sh --describe --topic ${name}`)}
    </li>`;
  }

  /** @param {View} view */
  topics(view) {
    const names = topicNames(view);
    return html`${names.length
        ? html`<ul class="nodes">${names.map((name) => this.topic(name, view.topics[name]))}</ul>`
        : html`<p class="dim">${t("act.no_topics")}</p>`}
      <button class="btn small ${names.length ? "" : "pri"}" data-takes="act" @click=${() => (overlay.value = { kind: "topic" })}>
        ${icon("plus")}${t("topic.create")}</button>`;
  }

  render() {
    const { view } = moment.value;
    const brokers = nodesByKind(view).broker;
    return html`<div class="scroll">
      ${fold(t("act.cluster"), t("act.n_brokers", { n: brokers.length }), html`<ul class="nodes">
        ${brokers.map((name) => this.broker(view, name))}</ul>
        <button class="btn small" @click=${() => (overlay.value = { kind: "connect" })}>${icon("plus")}${t("connect.title")}</button>`)}
      ${fold(t("act.topics"), topicNames(view).length, this.topics(view))}
      ${fold(t("produce.title"), html`<kbd>P</kbd>`, html`<hw-produce></hw-produce>`)}
      ${fold(t("consume.title"), "", html`<hw-consumer></hw-consumer>`)}
      ${fold(t("act.links"), t("act.n_cut", { n: Object.keys(view.links).length }), html`<hw-links></hw-links>`)}
    </div>`;
  }
}
customElements.define("hw-act", HwAct);

/** @param {string} node */
const shellName = (node) => node.replace(/^b(\d+)$/, "$1");
/** @param {"cut" | "restore"} verb @param {string[]} ends */
const linkLine = (verb, ends) => `link ${verb} ${ends.map(shellName).join(" ")}`;

class HwLinks extends HwElement {
  #ends = signal(["", ""]);

  /** @param {string[]} nodes @param {string} chosen @param {(name: string) => void} choose */
  end(nodes, chosen, choose) {
    return html`<select aria-label=${t("act.link_end")} data-takes="act" @change=${onValue(choose)}>
      ${nodes.map((name) => html`<option value=${name} .selected=${name === chosen}>${nodeName(name)}</option>`)}
    </select>`;
  }

  /** @param {string} key @param {Link} link @param {number} at_us */
  cut(key, { since_us, from }, at_us) {
    const ends = key.split("|");
    const between = from ? [from, ...ends.filter((end) => end !== from)].map(nodeName).join(" → ") : ends.map(nodeName).join(" – ");
    return html`<li>
      <button class="pick" @click=${() => select(`link:${key}`)}>
        <span class="bad">✕ ${between}</span><span class="dim mono">${durationText(at_us - since_us)}</span>
      </button>
      ${lineButton(t("act.restore"), linkLine("restore", ends))}
    </li>`;
  }

  render() {
    const { view, at_us } = moment.value;
    const { broker, zookeeper } = nodesByKind(view);
    const nodes = [...broker, ...zookeeper];
    if (nodes.length < 2) return html`<p class="dim">${t("act.no_links")}</p>`;
    const [wantedA, wantedB] = this.#ends.value;
    const a = nodes.includes(wantedA) ? wantedA : nodes[0];
    const others = nodes.filter((name) => name !== a);
    const b = others.includes(wantedB) ? wantedB : others[0];
    const isCut = linkId(a, b) in view.links;
    return html`<div class="row tight">
        ${this.end(nodes, a, (name) => (this.#ends.value = [name, b]))}
        ${this.end(others, b, (name) => (this.#ends.value = [a, name]))}
        ${isCut ? lineButton(t("act.restore"), linkLine("restore", [a, b])) : lineButton(t("act.cut"), linkLine("cut", [a, b]), "danger")}
      </div>
      <ul class="nodes">${Object.entries(view.links).map(([key, link]) => this.cut(key, link, at_us))}</ul>`;
  }
}
customElements.define("hw-links", HwLinks);
