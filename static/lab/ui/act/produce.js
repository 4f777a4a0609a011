// Producing: one record, a hundred, a steady stream, by an open producer or by one for the acks of the form.
import { word } from "../../core/actions/client_forms.js";
import { nodesByKind, partitionNames, topicNames } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { act, overlay } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { onEnter, onSubmit, onValue } from "../kit/events.js";
import { spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { lineButton } from "../parts/common.js";
import { effect, moment, nodeTarget, partition, select, signal } from "../store/state.js";
import { acksOf } from "../kit/words.js";

/** @import { ProducerNode, View } from "../../core/view/view.d.ts" */

/** @typedef {{ client: string, partition: string, acks: string, key: string, value: string, rate: string }} Form */

const ACKS = ["0", "1", "all"];
const MANY = 100;

/** The separator of key and value in the line that is sent: a character that the key does not contain. @param {string} key */
function separatorFor(key) {
  const common = [...":=|;,~^"].find((one) => !key.includes(one));
  let code = 0x2500;
  while (key.includes(String.fromCodePoint(code))) code++;
  return common ?? String.fromCodePoint(code);
}

/** `client`: the producer that sends; "": one for these acks. `partition`: the target, a partition or a topic. */
const form = signal({ client: "", partition: "", acks: "all", key: "", value: "", rate: "20" });
/** @param {Partial<Form>} more */
const set = (more) => (form.value = { ...form.peek(), ...more });
let written = 0;

// The form follows the partition that is shown, until another one is chosen.
effect(() => void (partition.value && set({ partition: partition.value })));

/** Makes a producer the one that sends. @param {string} client */
export const sendThrough = (client) => set({ client });

/** The first name of a kind that no node has: p1, p2, ... @param {{ nodes: Record<string, unknown> }} view @param {string} letter */
export function freeName(view, letter) {
  let number = 1;
  while (`${letter}${number}` in view.nodes) number++;
  return `${letter}${number}`;
}

/** Names and nodes of the open producers. @param {View} view */
const producers = (view) => nodesByKind(view).producer.map((name) =>
  /** @type {[string, ProducerNode]} */ ([name, view.nodes[name]]));

/**
 * The producer that the form means; undefined when none with its acks is open.
 * @param {View} view
 * @param {Pick<Form, "client" | "acks">} form
 */
function meant(view, { client, acks }) {
  const open = producers(view);
  return open.find(([name]) => name === client) ?? open.find(([, node]) => acksOf(node) === acks);
}

/**
 * Producers that were requested and are not in the view yet, by acks. What is sent meanwhile is for them.
 * @type {Map<string, { name: string, asked: Promise<number | null>, command: number | null }>}
 */
const coming = new Map();

effect(() => {
  const { nodes, console: commands } = moment.value.view;
  for (const [acks, { name, command }] of coming) if (name in nodes
    || (command !== null && commands[command]?.state === "done")) coming.delete(acks);
});

/** Opens a producer for some acks. @param {string} acks @param {View} view */
function openFor(acks, view) {
  const taken = [...coming.values()].map(({ name }) => [name, null]);
  const name = freeName({ nodes: { ...view.nodes, ...Object.fromEntries(taken) } }, "p");
  const one = { name, asked: act(`producer open ${name} --acks ${acks}`), command: null };
  coming.set(acks, one);
  return one;
}

/** The name of the producer that the form means; opens one if there is none. Null when that was refused. */
async function producer() {
  const { view } = moment.value;
  const { acks } = form.value;
  const open = meant(view, form.value);
  if (open) return open[0];
  const one = coming.get(acks) ?? openFor(acks, view);
  one.command = await one.asked;
  if (one.command !== null) return one.name;
  coming.delete(acks);
  return null;
}

/**
 * Sends a line for the form's producer and partition: "producer <verb> p1 orders-0 <rest>".
 * @param {string} verb
 * @param {string | number} rest
 */
async function send(verb, rest) {
  const name = await producer();
  if (name) await act(`producer ${verb} ${name} ${form.value.partition} ${rest}`);
}

/** Produces one record with what the form holds; also the key P. Without a topic it offers to create one. */
export async function produceOne() {
  const names = partitionNames(moment.value.view, null);
  if (!names.length) {
    overlay.value = { kind: "topic" };
    return;
  }
  const { view } = moment.value;
  if (!names.includes(form.value.partition) && !(form.value.partition in view.topics)) set({ partition: names[0] });
  const { key, value } = form.value;
  const text = value || t("produce.sample", { n: ++written });
  const separator = separatorFor(key);
  const option = separator === ":" ? "" : ` --key-separator ${word(separator)}`;
  await send("send", word(`${key || "null"}${separator}${text}`) + option);
}

/**
 * A choice among all partitions, and among `topics`, of which a partitioner chooses one.
 * @param {View} view
 * @param {string} chosen
 * @param {(name: string) => void} choose
 * @param {string[]} [topics]
 */
export const partitionChooser = (view, chosen, choose, topics = []) => html`
  <select aria-label=${t("produce.partition")} @change=${onValue(choose)}>
    ${partitionNames(view, null).map((name) => html`<option value=${name} .selected=${name === chosen}>${name}</option>`)}
    ${topics.map((name) => html`<option value=${name}
      .selected=${name === chosen}>${t("produce.partitioner_chooses", { topic: name })}</option>`)}
  </select>`;

class HwProduce extends HwElement {
  /** @param {string} chosen */
  acks(chosen) {
    return html`<span class="seg" role="radiogroup" aria-label="acks">
      ${ACKS.map((acks) => html`<button type="button" role="radio" aria-checked=${acks === chosen} title="acks=${acks}"
        @click=${() => set({ acks })}>${acks}</button>`)}
    </span>`;
  }

  /** @param {View} view @param {Form} form */
  sender(view, { client }) {
    const open = producers(view);
    if (!open.length) return "";
    return html`<select aria-label=${t("produce.sender")} @change=${onValue((value) => set({ client: value }))}>
      <option value="" .selected=${client === ""}>${t("produce.by_acks")}</option>
      ${open.map(([name]) => html`<option value=${name} .selected=${name === client}>${name}</option>`)}</select>`;
  }

  /** @param {View} view @param {Form} form */
  stream(view, form) {
    const { rate, partition: to } = form;
    const [name, node] = meant(view, form) ?? [];
    if (node?.rate) {
      return lineButton(html`■ ${t("produce.stop")}`, `producer stream ${name} ${node.partition || to} 0`);
    }
    return html`<button type="button" class="btn small" ?disabled=${!(Number(rate) > 0)} @click=${() => send("stream", rate)}>
      ▶ ${t("produce.stream")}</button>`;
  }

  /** @param {[string, ProducerNode]} entry */
  client([name, node]) {
    const pick = () => select(nodeTarget(name));
    return html`<tr class="pickable" tabindex="0" @click=${pick} @keydown=${onEnter(pick)}>
        <td>${name}${node.rate ? html` <span class="dim">${node.rate}/s</span>` : ""}</td>
        <td>${acksOf(node)}</td>
        <td>${spaced(node.sent)}</td>
        <td>${spaced(node.acknowledged)}</td>
        <td class=${node.failed ? "bad" : ""}>${spaced(node.failed)}</td>
        <td>${node.last_latency_us ? durationText(node.last_latency_us) : "—"}</td>
      </tr>
      ${node.last_error ? html`<tr><td colspan="6" class="word bad">${node.last_error}</td></tr>` : ""}`;
  }

  /** @param {View} view */
  clients(view) {
    const list = producers(view);
    if (!list.length) return "";
    const titles = [t("produce.client"), "acks", t("produce.sent"), t("produce.acked_short"), t("produce.failed"), t("produce.latency")];
    return html`<table class="clients">
      <thead><tr>${titles.map((title) => html`<th>${title}</th>`)}</tr></thead>
      <tbody>${list.map((entry) => this.client(entry))}</tbody>
    </table>`;
  }

  render() {
    const { view } = moment.value;
    if (!partitionNames(view, null).length) return html`<p class="dim">${t("produce.no_topic")}</p>`;
    const { client, key, value, rate, acks } = form.value;
    return html`<form class="panel-form" data-takes="act" @submit=${onSubmit(produceOne)}>
        <div class="row tight">
          ${partitionChooser(view, form.value.partition, (name) => set({ partition: name }), topicNames(view))}${client in view.nodes
            ? "" : this.acks(acks)}
        </div>
        <div class="row tight">${this.sender(view, form.value)}
          <button type="button" class="btn small" @click=${() =>
            (overlay.value = { kind: "producer" })}>${t("produce.settings")}</button></div>
        <div class="fields">
          <label class="field"><span>${t("produce.key")}</span>
            <input .value=${key} placeholder="null" autocomplete="off" @input=${onValue((value) => set({ key: value }))}></label>
          <label class="field"><span>${t("produce.value")}</span>
            <input .value=${value} placeholder=${t("produce.sample", { n: written + 1 })} autocomplete="off"
              @input=${onValue((value) => set({ value }))}></label>
        </div>
        <div class="row tight">
          <button class="btn small pri">${t("produce.one")}</button>
          <button type="button" class="btn small" @click=${() => send("burst", MANY)}>${t("produce.hundred")}</button>
        </div>
        <div class="row tight">
          <label class="row tight"><span class="dim">${t("produce.rate")}</span>
            <input class="short" type="number" min="1" max="1000" .value=${rate}
              @input=${onValue((value) => set({ rate: value }))}></label>
          ${this.stream(view, form.value)}
        </div>
      </form>
      ${this.clients(view)}`;
  }
}
customElements.define("hw-produce", HwProduce);
