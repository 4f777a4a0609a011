// How an external client joins: the bootstrap address, ready-to-run programs, and the clients that have joined.
import { clientsFromOutside } from "../../core/view/selectors.js";
import { copy } from "../store/api.js";
import { HwElement, html, icon } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { link } from "../parts/common.js";
import { moment, signal, welcome } from "../store/state.js";
import { playing, togglePlay } from "../store/time.js";

/** Each program writes a record to `orders` and reads one there. A test runs those in Python, `make conformance` the others. */
const PROGRAMS = [
  { name: "confluent-kafka", file: "confluent_kafka.py" },
  { name: "kafka-python", file: "kafka_python.py" },
  { name: "aiokafka", file: "aiokafka.py" },
  { name: "Java", file: "Orders.java" },
  { name: "Go", file: "franz_go.go" },
  { name: "Node", file: "kafkajs.mjs" },
  { name: "kcat", file: "kcat.sh" },
  { name: "kafka-*.sh", file: "console_tools.sh" },
];
const PLACE = "BOOTSTRAP";
/** @import { Signal } from "@preact/signals-core" */
/** @import { View } from "../../core/view/view.d.ts" */

const folder = new URL("../../connect/", import.meta.url);

class HwConnect extends HwElement {
  #chosen = signal(PROGRAMS[0].file);
  /** The programs that are loaded, by file. @type {Signal<Record<string, string>>} */
  #texts = signal({});

  connectedCallback() {
    super.connectedCallback();
    this.choose(PROGRAMS[0].file);
  }

  /** @param {string} file */
  async choose(file) {
    this.#chosen.value = file;
    if (this.#texts.peek()[file]) return;
    const response = await fetch(new URL(file, folder));
    const text = response.ok ? await response.text() : t("error.unexpected");
    this.#texts.value = { ...this.#texts.peek(), [file]: text };
  }

  /** @param {View} view */
  joined(view) {
    const clients = clientsFromOutside(view);
    if (!clients.length) return html`<p class="dim">${t("connect.nobody")}</p>`;
    return html`<ul class="list">${clients.map((name) => html`<li>${link(`client:${name}`, name)}
      <span class="mono">${view.nodes[name].settings?.["client.id"]}</span>
      <span class="dim">${view.nodes[name].settings?.software}</span></li>`)}</ul>`;
  }

  render() {
    const { view } = moment.value;
    const bootstrap = welcome.value?.bootstrap;
    if (!bootstrap) {
      return html`<p>${t("connect.asleep")}</p>
        <button class="btn" @click=${togglePlay}>${t("connect.wake")}</button>`;
    }
    const file = this.#chosen.value;
    const text = (this.#texts.value[file] ?? "").replaceAll(PLACE, bootstrap);
    /** @param {string} what @param {string} label */
    const copyButton = (what, label) => html`<button class="btn small"
      @click=${() => copy(what, t("connect.copied"))}>${icon("copy")}${label}</button>`;
    return html`<div class="servers"><span class="dim">bootstrap.servers</span>
        <code class="line-shown">${bootstrap}</code>${copyButton(bootstrap, t("connect.copy_address"))}</div>
      ${playing() ? html`<p class="dim">${t("connect.time")}</p>`
        : html`<p class="message warn"><span>${t("connect.stands")}</span><button class="btn small"
          @click=${togglePlay}>▶ ${t("transport.play")}</button></p>`}
      <div class="programs"><span class="seg wraps" role="group" aria-label=${t("connect.programs")}>${PROGRAMS.map((program) => html`
          <button aria-pressed=${program.file === file} @click=${() => this.choose(program.file)}>${program.name}</button>`)}</span>
        ${copyButton(text, t("connect.copy"))}
        <pre class="mono program" tabindex="0">${text}</pre></div>
      ${"orders" in view.topics ? "" : html`<p class="dim">${t("connect.no_topic")}</p>`}
      <h3>${t("connect.joined")}</h3>${this.joined(view)}`;
  }
}
customElements.define("hw-connect", HwConnect);
