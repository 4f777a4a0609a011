// Producing: one record, a hundred, a steady stream. A producer that was opened sends, or one for the acks of the form.
import { word } from "../../core/actions/client_forms.js";
import { nodesByKind, partitionNames, topicNames } from "../../core/view/selectors.js";
import { durationText } from "../../core/player/timemap.js";
import { act, overlay } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";
import { lineButton } from "../parts/common.js";
import { effect, moment, nodeTarget, partition, select, signal } from "../store/state.js";
import { acksOf } from "../kit/words.js";

const ACKS = ["0", "1", "all"];
const MANY = 100;

/** `client`: the producer that sends; "" = one for these acks. `partition`: where to, a partition or a topic. */
const form = signal({ client: "", partition: "", acks: "all", key: "", value: "", rate: "20" });
const set = (more) => (form.value = { ...form.peek(), ...more });
let written = 0;

// The form follows the partition that is shown, until somebody chooses another one.
effect(() => partition.value && set({ partition: partition.value }));

/** From now on this producer sends. */
export const sendThrough = (client) => set({ client });

/** The first name of a kind that no node has: p1, p2, ... */
export function freeName(view, letter) {
  let number = 1;
  while (`${letter}${number}` in view.nodes) number++;
  return `${letter}${number}`;
}

/** Names and facts of the open producers. */
const producers = (view) => nodesByKind(view).producer.map((name) => [name, view.nodes[name]]);

/** The producer that the form means: [name, node]; undefined when none with its acks is open. */
function meant(view, { client, acks }) {
  const open = producers(view);
  return open.find(([name]) => name === client) ?? open.find(([, node]) => acksOf(node) === acks);
}

/** Producers that were asked for and are not in the view yet, by acks: {name, asked, command}. Whoever sends meanwhile means them, too. */
const coming = new Map();

effect(() => {
  const { nodes, console: commands } = moment.value.view;
  for (const [acks, { name, command }] of coming) if (name in nodes || commands[command]?.state === "done") coming.delete(acks);
});

/** The name of the producer that the form means; opens one if there is none. Null when that was refused. */
async function producer() {
  const { view } = moment.value;
  const { acks } = form.value;
  const open = meant(view, form.value);
  if (open) return open[0];
  if (!coming.has(acks)) {
    const taken = [...coming.values()].map(({ name }) => [name, null]);
    const name = freeName({ nodes: { ...view.nodes, ...Object.fromEntries(taken) } }, "p");
    coming.set(acks, { name, asked: act(`producer open ${name} --acks ${acks}`), command: null });
  }
  const one = coming.get(acks);
  one.command = await one.asked;
  if (one.command !== null) return one.name;
  coming.delete(acks);
  return null;
}

/** Sends a line for the form's producer and partition: "producer <verb> p1 orders-0 <rest>". */
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
  await send("send", word(`${key || "null"}:${text}`));
}

/** A choice among all partitions, and among `topics`, of which a partitioner chooses one. */
export const partitionChooser = (view, chosen, choose, topics = []) => html`
  <select aria-label=${t("produce.partition")} @change=${(event) => choose(event.target.value)}>
    ${partitionNames(view, null).map((name) => html`<option value=${name} .selected=${name === chosen}>${name}</option>`)}
    ${topics.map((name) => html`<option value=${name} .selected=${name === chosen}>${t("produce.partitioner_chooses", { topic: name })}</option>`)}
  </select>`;

class HwProduce extends HwElement {
  acks(chosen) {
    return html`<span class="seg" role="radiogroup" aria-label="acks">
      ${ACKS.map((acks) => html`<button type="button" role="radio" aria-checked=${acks === chosen} title="acks=${acks}"
        @click=${() => set({ acks })}>${acks}</button>`)}
    </span>`;
  }

  sender(view, { client }) {
    const open = producers(view);
    if (!open.length) return "";
    return html`<select aria-label=${t("produce.sender")} @change=${(event) => set({ client: event.target.value })}>
      <option value="" .selected=${client === ""}>${t("produce.by_acks")}</option>
      ${open.map(([name]) => html`<option value=${name} .selected=${name === client}>${name}</option>`)}</select>`;
  }

  stream(view, form) {
    const { rate, partition: to } = form;
    const [name, node] = meant(view, form) ?? [];
    if (node?.rate) {
      return lineButton(html`■ ${t("produce.stop")}`, `producer stream ${name} ${node.partition || to} 0`);
    }
    return html`<button type="button" class="btn small" ?disabled=${!(rate > 0)} @click=${() => send("stream", rate)}>
      ▶ ${t("produce.stream")}</button>`;
  }

  client([name, node]) {
    const pick = () => select(nodeTarget(name));
    return html`<tr class="pickable" tabindex="0" @click=${pick} @keydown=${(event) => event.key === "Enter" && pick()}>
        <td>${name}${node.rate ? html` <span class="dim">${node.rate}/s</span>` : ""}</td>
        <td>${acksOf(node)}</td>
        <td>${spaced(node.sent)}</td>
        <td>${spaced(node.acknowledged)}</td>
        <td class=${node.failed ? "bad" : ""}>${spaced(node.failed)}</td>
        <td>${node.last_latency_us ? durationText(node.last_latency_us) : "—"}</td>
      </tr>
      ${node.last_error ? html`<tr><td colspan="6" class="word bad">${node.last_error}</td></tr>` : ""}`;
  }

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
    const submit = (event) => {
      event.preventDefault();
      produceOne();
    };
    return html`<form class="panel-form" @submit=${submit}>
        <div class="row tight">
          ${partitionChooser(view, form.value.partition, (name) => set({ partition: name }), topicNames(view))}${client in view.nodes ? "" : this.acks(acks)}
        </div>
        <div class="row tight">${this.sender(view, form.value)}
          <button type="button" class="btn small" @click=${() => (overlay.value = { kind: "producer" })}>${t("produce.settings")}</button></div>
        <div class="fields">
          <label class="field"><span>${t("produce.key")}</span>
            <input .value=${key} placeholder="null" autocomplete="off" @input=${(event) => set({ key: event.target.value })}></label>
          <label class="field"><span>${t("produce.value")}</span>
            <input .value=${value} placeholder=${t("produce.sample", { n: written + 1 })} autocomplete="off"
              @input=${(event) => set({ value: event.target.value })}></label>
        </div>
        <div class="row tight">
          <button class="btn small pri">${t("produce.one")}</button>
          <button type="button" class="btn small" @click=${() => send("burst", MANY)}>${t("produce.hundred")}</button>
        </div>
        <div class="row tight">
          <label class="row tight"><span class="dim">${t("produce.rate")}</span>
            <input class="short" type="number" min="1" max="1000" .value=${rate}
              @input=${(event) => set({ rate: event.target.value })}></label>
          ${this.stream(view, form.value)}
        </div>
      </form>
      ${this.clients(view)}`;
  }
}
customElements.define("hw-produce", HwProduce);
