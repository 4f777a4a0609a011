// The side panel "Act": brokers, topics, producing, consuming, links. Each button sends a line that the console shows.
import { linkId, partitionNames, nodesByKind } from "../core/selectors.js";
import { durationText } from "../core/timemap.js";
import { act, overlay } from "./actions.js";
import { HwElement, html, icon } from "./element.js";
import { brief, spaced } from "./format.js";
import { t } from "./i18n.js";
import { choicesFor, openMenuOf } from "./menus.js";
import { effect, moment, nodeTarget, partition, select, selection, signal } from "./state.js";
import { nodeName } from "./words.js";

const ACKS = { 0: "0", 1: "1", all: "-1" };
const MANY = 100;

/** What the forms hold. */
const produce = signal({ partition: "", acks: "all", key: "", value: "", rate: "20" });
const consume = signal({ partition: "", from: "earliest", offset: "0" });
let written = 0;

const ofKind = (view, kind) => nodesByKind(view)[kind].map((name) => [name, view.nodes[name]]);
const partitionsOf = (view) => partitionNames(view, null);

/** A word of the shell, quoted when it has to be. */
export const word = (text) => (/^[\w.:@%+=,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function freeName(view, letter) {
  let number = 1;
  while (`${letter}${number}` in view.nodes) number++;
  return `${letter}${number}`;
}

/** The name of an open producer with these acks; opens one if there is none. Null when that was refused. */
async function producerWith(acks) {
  const { view } = moment.value;
  const known = ofKind(view, "producer").find(([, node]) => node.settings?.acks === ACKS[acks]);
  if (known) return known[0];
  const name = freeName(view, "p");
  return (await act(`producer open ${name} --acks ${acks}`)) === null ? null : name;
}

async function sendWith(line) {
  const { acks, partition: to } = produce.value;
  const name = await producerWith(acks);
  if (name) await act(line(name, to));
}

/** Produces one record with what the form holds; also the key P. */
export async function produceOne() {
  const { view } = moment.value;
  const form = produce.value;
  if (!(form.partition in view.partitions)) produce.value = { ...form, partition: partition.value || partitionsOf(view)[0] || "" };
  if (!produce.value.partition) return void (overlay.value = { kind: "topic" });
  const { key, value } = produce.value;
  const text = value || t("produce.sample", { n: ++written });
  await sendWith((name, to) => `producer send ${name} ${to} ${word(`${key || "null"}:${text}`)}`);
}

const produceMany = () => sendWith((name, to) => `producer burst ${name} ${to} ${MANY}`);
const stream = (rate) => sendWith((name, to) => `producer stream ${name} ${to} ${rate}`);

/** An open section of the panel with its title. */
const section = (title, extra, body, open = true) => html`<details class="sec fold" ?open=${open}><summary><h3>${title}<span>${extra}</span></h3></summary>${body}</details>`;

class HwAct extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    // The forms follow the partition that is shown, until somebody chooses another one.
    effect(() => {
      if (!partition.value) return;
      produce.value = { ...produce.peek(), partition: partition.value };
      consume.value = { ...consume.peek(), partition: partition.value };
    });
  }

  brokers(view) {
    const { broker: controller } = view.controller;
    return section(t("act.cluster"), t("act.n_brokers", { n: ofKind(view, "broker").length }), html`<ul class="nodes">
      ${ofKind(view, "broker").map(([name, node]) => {
        const menu = (event) => {
          const { left, bottom } = event.currentTarget.getBoundingClientRect();
          openMenuOf(`broker:${name}`, left, bottom + 4);
        };
        const items = choicesFor(view, `broker:${name}`);
        const chief = node.state === "up" ? items.find(({ harm }) => harm) : items[0];
        return html`<li class=${selection.value === nodeTarget(name) ? "on" : ""}>
          <button class="pick" @click=${() => select(nodeTarget(name))}><b>${nodeName(name)}</b>
            <span class="state ${node.state}">${t(`node.${node.state}`)}</span>${controller === node.broker_id ? html`<span class="tag control">${t("node.controller")}</span>` : ""}</button>
          ${chief ? html`<button class="btn small ${chief.harm ? "danger" : ""}" title=${chief.line} @click=${() => act(chief.line)}>${t(`act.${chief.line.split(" ")[1]}`)}</button>` : ""}
          <button class="ghost" aria-haspopup="menu" aria-label=${t("menu.of", { what: nodeName(name) })} title=${t("menu.of", { what: nodeName(name) })} @click=${menu}>${icon("more")}</button>
        </li>`;
      })}</ul>`);
  }

  topics(view) {
    const topics = Object.entries(view.topics);
    return section(t("act.topics"), topics.length || "", html`
      ${topics.length ? html`<ul class="nodes">${topics.map(([name, topic]) => html`<li>
        <button class="pick" @click=${() => ((partition.value = `${name}-0`), select(`partition:${name}-0`))}><b>${name}</b><span class="dim mono">${topic.partitions} × ${topic.replication_factor}</span></button>
        <button class="btn small" title="kafka-topics.sh --describe --topic ${name}" @click=${() => act(`kafka-topics.sh --describe --topic ${name}`)}>${t("act.describe")}</button></li>`)}</ul>`
        : html`<p class="dim">${t("act.no_topics")}</p>`}
      <button class="btn small ${topics.length ? "" : "pri"}" @click=${() => (overlay.value = { kind: "topic" })}>${icon("plus")}${t("topic.create")}</button>`);
  }

  render() {
    const { view } = moment.value;
    return html`<div class="scroll">
      ${this.brokers(view)}${this.topics(view)}
      ${section(t("produce.title"), html`<kbd>P</kbd>`, html`<hw-produce></hw-produce>`)}
      ${section(t("consume.title"), "", html`<hw-consumer></hw-consumer>`)}
      ${section(t("act.links"), t("act.n_cut", { n: Object.keys(view.links).length }), html`<hw-links></hw-links>`)}
    </div>`;
  }
}
customElements.define("hw-act", HwAct);

const chooser = (view, value, change) => html`<select aria-label=${t("produce.partition")} @change=${(event) => change(event.target.value)}>
  ${partitionsOf(view).map((name) => html`<option ?selected=${name === value}>${name}</option>`)}</select>`;

class HwProduce extends HwElement {
  render() {
    const { view } = moment.value;
    const form = produce.value;
    const set = (more) => (produce.value = { ...form, ...more });
    if (!partitionsOf(view).length) return html`<p class="dim">${t("produce.no_topic")}</p>`;
    const clients = ofKind(view, "producer");
    const running = clients.find(([, node]) => node.settings?.acks === ACKS[form.acks] && node.rate > 0);
    return html`<form class="panel-form" @submit=${(event) => (event.preventDefault(), produceOne())}>
        <div class="row tight">${chooser(view, form.partition, (name) => set({ partition: name }))}
          <span class="seg" role="radiogroup" aria-label="acks">${Object.keys(ACKS).sort((a, b) => (a === "all") - (b === "all")).map((acks) =>
            html`<button type="button" role="radio" aria-checked=${acks === form.acks} title="acks=${acks}" @click=${() => set({ acks })}>${acks}</button>`)}</span></div>
        <div class="fields">
          <label class="field"><span>${t("produce.key")}</span><input .value=${form.key} placeholder="null" autocomplete="off" @input=${(event) => set({ key: event.target.value })}></label>
          <label class="field"><span>${t("produce.value")}</span><input .value=${form.value} placeholder=${t("produce.sample", { n: written + 1 })} autocomplete="off" @input=${(event) => set({ value: event.target.value })}></label>
        </div>
        <div class="row tight"><button class="btn small pri">${t("produce.one")}</button><button type="button" class="btn small" @click=${produceMany}>${t("produce.hundred")}</button></div>
        <div class="row tight"><label class="row tight"><span class="dim">${t("produce.rate")}</span><input class="short" type="number" min="1" max="1000" .value=${form.rate} @input=${(event) => set({ rate: event.target.value })}></label>
          ${running ? html`<button type="button" class="btn small" @click=${() => act(`producer stream ${running[0]} ${running[1].partition || form.partition} 0`)}>■ ${t("produce.stop")}</button>`
            : html`<button type="button" class="btn small" ?disabled=${!(form.rate > 0)} @click=${() => stream(form.rate)}>▶ ${t("produce.stream")}</button>`}</div>
      </form>
      ${clients.length ? html`<table class="clients"><thead><tr><th>${t("produce.client")}</th><th>acks</th><th>${t("produce.sent")}</th><th>${t("produce.acked_short")}</th><th>${t("produce.failed")}</th><th>${t("produce.latency")}</th></tr></thead>
        <tbody>${clients.map(([name, node]) => html`<tr class="pickable" tabindex="0" @click=${() => select(nodeTarget(name))} @keydown=${(event) => event.key === "Enter" && select(nodeTarget(name))}>
          <td>${name}${node.rate ? html` <span class="dim">${node.rate}/s</span>` : ""}</td><td>${node.settings?.acks === "-1" ? "all" : node.settings?.acks}</td><td>${spaced(node.sent)}</td><td>${spaced(node.acknowledged)}</td><td class=${node.failed ? "bad" : ""}>${spaced(node.failed)}</td><td>${node.last_latency_us ? durationText(node.last_latency_us) : "—"}</td></tr>
          ${node.last_error ? html`<tr><td colspan="6" class="word bad">${node.last_error}</td></tr>` : ""}`)}</tbody></table>` : ""}`;
  }
}
customElements.define("hw-produce", HwProduce);

class HwConsumer extends HwElement {
  #follow(event) {
    event.preventDefault();
    const { view } = moment.value;
    const { partition: from, from: where, offset } = consume.value;
    const to = from in view.partitions ? from : partitionsOf(view)[0];
    act(`consumer follow ${freeName(view, "c")} ${to} --from ${where === "offset" ? offset : where}`);
  }

  follower([name, node]) {
    const lag = node.high_watermark - node.position;
    return html`<div class="follower">
      <div class="row tight"><button class="pick" @click=${() => select(nodeTarget(name))}><b>${name}</b><span class="mono">${node.partition}</span></button><span class="spacer"></span>
        <span class="dim">${t("consume.at", { n: spaced(node.position) })}${lag > 0 ? ` · ${t("consume.lag", { n: spaced(lag) })}` : ""}</span>
        <button class="ghost" title="consumer unfollow ${name}" aria-label=${t("act.unfollow")} @click=${() => act(`consumer unfollow ${name}`)}>${icon("close")}</button></div>
      ${node.last_reset ? html`<p class="dim">${node.last_reset}</p>` : ""}
      <ol class="records">${node.records.slice(-6).map(([offset, , key, value]) => html`<li><span class="dim mono">${offset}</span><span class="mono key">${key === null ? html`<i>null</i>` : brief(key, 14)}</span><span class="mono">${value === null ? html`<i>null</i>` : brief(value, 34)}</span></li>`)}</ol>
    </div>`;
  }

  render() {
    const { view } = moment.value;
    const form = consume.value;
    const set = (more) => (consume.value = { ...form, ...more });
    if (!partitionsOf(view).length) return html`<p class="dim">${t("consume.no_topic")}</p>`;
    return html`<form class="panel-form" @submit=${this.#follow}>
        <div class="row tight">${chooser(view, form.partition, (name) => set({ partition: name }))}
          <select aria-label=${t("consume.from")} @change=${(event) => set({ from: event.target.value })}>${["earliest", "latest", "offset"].map((one) => html`<option value=${one} ?selected=${one === form.from}>${t(`consume.${one}`)}</option>`)}</select>
          ${form.from === "offset" ? html`<input class="short" type="number" min="0" aria-label=${t("consume.offset")} .value=${form.offset} @input=${(event) => set({ offset: event.target.value })}>` : ""}
          <button class="btn small">${t("consume.follow")}</button></div>
      </form>
      ${ofKind(view, "consumer").map((entry) => this.follower(entry))}`;
  }
}
customElements.define("hw-consumer", HwConsumer);

class HwLinks extends HwElement {
  #ends = signal(["", ""]);

  render() {
    const { view, at_us } = moment.value;
    const nodes = [...ofKind(view, "broker"), ...ofKind(view, "zookeeper")].map(([name]) => name);
    if (nodes.length < 2) return html`<p class="dim">${t("act.no_links")}</p>`;
    const a = nodes.includes(this.#ends.value[0]) ? this.#ends.value[0] : nodes[0];
    const b = nodes.includes(this.#ends.value[1]) && this.#ends.value[1] !== a ? this.#ends.value[1] : nodes.find((name) => name !== a);
    const line = (verb, ends) => `link ${verb} ${ends.map((end) => end.replace(/^b/, "")).join(" ")}`;
    const end = (value, change, without) => html`<select aria-label=${t("act.link_end")} @change=${(event) => change(event.target.value)}>
      ${nodes.filter((name) => name !== without).map((name) => html`<option value=${name} ?selected=${name === value}>${nodeName(name)}</option>`)}</select>`;
    return html`<div class="row tight">${end(a, (name) => (this.#ends.value = [name, b]))}${end(b, (name) => (this.#ends.value = [a, name]), a)}
        <button class="btn small danger" ?disabled=${linkId(a, b) in view.links} title=${line("cut", [a, b])} @click=${() => act(line("cut", [a, b]))}>${t("act.cut")}</button></div>
      <ul class="nodes">${Object.entries(view.links).map(([key, link]) => html`<li><button class="pick" @click=${() => select(`link:${key}`)}><span class="state down">✕ ${key.split("|").map(nodeName).join(" – ")}</span><span class="dim mono">${durationText(at_us - link.since_us)}</span></button>
        <button class="btn small" title=${line("restore", key.split("|"))} @click=${() => act(line("restore", key.split("|")))}>${t("act.restore")}</button></li>`)}</ul>`;
  }
}
customElements.define("hw-links", HwLinks);
