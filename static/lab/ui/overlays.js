// Dialogs: create a topic, bookmark, find, the list of keys, and what to do when somebody acts in the past.
import { durationText } from "../core/timemap.js";
import { act, bookmark, overlay, pastLine } from "./actions.js";
import { HwElement, html } from "./element.js";
import { t } from "./i18n.js";
import { effect, moment, nodeTarget, partition, player, select, signal } from "./state.js";
import { KEYS, keysOn } from "./keys.js";
import { seek, seekSeq } from "./transport.js";

const close = () => (overlay.value = null);

/** Where a search leads: [{label, go}]. Partitions, offsets, messages, znodes, event numbers, instants. */
export function findPlaces(view, text) {
  const places = [];
  const asked = text.trim();
  const number = /^[#@]?(\d+)$/.exec(asked)?.[1];
  const time = /^(\d+(?:\.\d+)?)\s*s?$/.exec(asked)?.[1];
  if (time && (asked.includes(".") || asked.includes("s"))) places.push({ label: t("find.instant", { at: time }), go: () => seek(Number(time) * 1e6) });
  if (number) places.push({ label: t("find.event", { n: number }), go: () => seekSeq(Number(number)) });
  const offset = /^(\S+-\d+)?\s*@?(\d+)$/.exec(asked);
  if (offset && (offset[1] || partition.value)) {
    const name = offset[1] ?? partition.value;
    const leader = view.partitions[name]?.leader;
    if (leader >= 0) places.push({ label: t("find.offset", { partition: name, n: offset[2] }), go: () => select(`record:${name}@b${leader}:${offset[2]}`) });
  }
  const within = (name) => asked && name.toLowerCase().includes(asked.toLowerCase().replace(/^#/, ""));
  for (const [id, rpc] of Object.entries(view.rpcs)) if (within(id) || String(rpc.correlation) === number) places.push({ label: `${rpc.label} · ${rpc.source} → ${rpc.destination}`, go: () => select(`rpc:${id}`) });
  for (const name of Object.keys(view.partitions)) if (within(name)) places.push({ label: t("find.partition", { name }), go: () => ((partition.value = name), select(`partition:${name}`)) });
  for (const name of Object.keys(view.nodes)) if (within(name)) places.push({ label: t("find.node", { name }), go: () => select(nodeTarget(name)) });
  if (asked.length > 2) for (const path of Object.keys(view.zk)) if (within(path)) places.push({ label: `znode ${path}`, go: () => select(`znode:${path}`) });
  return places.slice(0, 12);
}

class HwOverlays extends HwElement {
  #query = signal("");
  #topic = signal({ name: "orders", partitions: 3, factor: 3 });

  connectedCallback() {
    super.connectedCallback();
    effect(() => {
      if (overlay.value?.kind === "find") this.#query.value = "";
      if (overlay.value?.kind !== "topic") return;
      const { view } = moment.peek();
      const brokers = Object.values(view.nodes).filter(({ kind }) => kind === "broker").length;
      this.#topic.value = { name: "orders" in view.topics ? "" : "orders", partitions: 3, factor: Math.max(1, Math.min(3, brokers)) };
    });
  }

  updated() {
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
  }

  dialog(title, body, onClose = close) {
    return html`<dialog aria-label=${title} @close=${onClose} @click=${(event) => event.target === event.currentTarget && onClose()}><div class="dialog"><h2>${title}</h2>${body}</div></dialog>`;
  }

  topic() {
    const form = this.#topic.value;
    const set = (more) => (this.#topic.value = { ...form, ...more });
    const line = `kafka-topics.sh --create --topic ${form.name} --partitions ${form.partitions} --replication-factor ${form.factor}`;
    const create = async (event) => {
      event.preventDefault();
      close();
      await act(line);
    };
    return this.dialog(t("topic.create"), html`<form class="field" @submit=${create}>
      <label class="field"><span>${t("topic.name")}</span><input required autocomplete="off" spellcheck="false" .value=${form.name} @input=${(event) => set({ name: event.target.value })}></label>
      <div class="fields"><label class="field"><span>${t("topic.partitions")}</span><input type="number" min="1" required .value=${String(form.partitions)} @input=${(event) => set({ partitions: event.target.value })}></label>
        <label class="field"><span>${t("topic.factor")}</span><input type="number" min="1" required .value=${String(form.factor)} @input=${(event) => set({ factor: event.target.value })}></label></div>
      <small>${t("topic.as_line")}</small><code class="line-shown">${line}</code>
      <div class="row"><button type="button" class="btn" @click=${close}>${t("dialog.cancel")}</button><button class="btn pri">${t("topic.create")}</button></div></form>`);
  }

  bookmark() {
    const save = (event) => {
      event.preventDefault();
      const name = new FormData(event.target).get("name").trim();
      close();
      bookmark(name);
    };
    return this.dialog(t("transport.bookmark"), html`<form class="field" @submit=${save}>
      <label class="field"><span>${t("bookmark.name", { at: (player.at_us / 1e6).toFixed(4) })}</span><input name="name" required maxlength="80" autocomplete="off" .value=${t("bookmark.proposal", { n: player.seq })}></label>
      <div class="row"><button type="button" class="btn" @click=${close}>${t("dialog.cancel")}</button><button class="btn pri">${t("bookmark.save")}</button></div></form>`);
  }

  find() {
    const places = findPlaces(moment.value.view, this.#query.value);
    const go = (place) => {
      close();
      place?.go();
    };
    return this.dialog(t("find.title"), html`<form class="field" @submit=${(event) => (event.preventDefault(), go(places[0]))}>
      <input class="mono" aria-label=${t("find.title")} placeholder=${t("find.placeholder")} autocomplete="off" spellcheck="false" @input=${(event) => (this.#query.value = event.target.value)}>
      <ul class="list found">${places.map((place) => html`<li><button type="button" class="rpc" @click=${() => go(place)}>${place.label}</button></li>`)}</ul>
      ${this.#query.value && !places.length ? html`<p class="dim">${t("find.none")}</p>` : ""}</form>`);
  }

  help() {
    return this.dialog(t("help.title"), html`<div class="keys">${KEYS.filter(({ key }) => key).map(({ key, name }) => html`<div><span>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</span><span>${t(`key.${name}`)}</span></div>`)}</div>
      <label class="row start"><input type="checkbox" .checked=${keysOn.value} @change=${(event) => (keysOn.value = event.target.checked)}><span>${t("help.single_keys")}</span></label>
      <p class="dim">${t("help.note")}</p>
      <div class="row"><button class="btn pri" @click=${close}>${t("dialog.close")}</button></div>`);
  }

  past() {
    const { line, resolve } = pastLine.value;
    const answer = (choice) => {
      pastLine.value = null;
      resolve(choice);
    };
    const { live_at_us, at_us } = moment.value;
    return this.dialog(t("past.title"), html`<p>${t("past.text", { ago: durationText(live_at_us - at_us) })}</p><code class="line-shown">${line}</code>
      <div class="row"><button class="btn" @click=${() => answer("")}>${t("dialog.cancel")}</button><button class="btn" @click=${() => answer("now")}>${t("past.now")}</button><button class="btn pri" autofocus @click=${() => answer("fork")}>${t("past.fork")}</button></div>`, () => pastLine.value && answer(""));
  }

  render() {
    const kind = overlay.value?.kind;
    return html`${pastLine.value ? this.past() : kind === "topic" ? this.topic() : kind === "bookmark" ? this.bookmark() : kind === "find" ? this.find() : kind === "help" ? this.help() : ""}`;
  }
}
customElements.define("hw-overlays", HwOverlays);
