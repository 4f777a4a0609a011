// Dialogs: create a topic, bookmark, what to pause at, and the question that acting in the past raises.
import { word } from "../../core/actions/client_forms.js";
import { durationText } from "../../core/player/timemap.js";
import "../act/connect.js";
import "../act/open_client.js";
import "../act/assignor.js";
import "./save_page.js";
import { close, dialog, findDialog, helpDialog, openIn } from "./common_dialogs.js";
import { act, bookmark, fork, here, overlay, pastLine } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { onSubmit, onValue } from "../kit/events.js";
import { t } from "../kit/i18n.js";
import { pauseProposals, pauseWhen } from "../store/time.js";
import { effect, index, moment, player, signal } from "../store/state.js";

/** @typedef {{ name: string, partitions: number | string, factor: number | string }} TopicForm */

const cancel = () => html`<button type="button" class="btn" @click=${close}>${t("dialog.cancel")}</button>`;

class HwOverlays extends HwElement {
  /** Conditions that the server proposes. */
  #pauses = signal(/** @type {string[]} */ ([]));
  #topic = signal(/** @type {TopicForm} */ ({ name: "orders", partitions: 3, factor: 3 }));

  connectedCallback() {
    super.connectedCallback();
    effect(() => {
      const kind = overlay.value?.kind;
      if (kind === "pause") pauseProposals().then((found) => (this.#pauses.value = found));
      if (kind !== "topic") return;
      const { nodes, topics } = moment.peek().view;
      const brokers = Object.values(nodes).filter((node) => node.kind === "broker").length;
      this.#topic.value = { name: "orders" in topics ? "" : "orders", partitions: 3, factor: Math.max(1, Math.min(3, brokers)) };
    });
  }

  updated() {
    openIn(this);
  }

  topic() {
    const form = this.#topic.value;
    const { name, partitions, factor } = form;
    const line = `kafka-topics.sh --create --topic ${word(name)} --partitions ${partitions} --replication-factor ${factor}`;
    /** @param {keyof TopicForm} field */
    const take = (field) => onValue((value) => (this.#topic.value = { ...form, [field]: value }));
    const create = () => {
      close();
      act(line);
    };
    return dialog(t("topic.create"), html`<form class="field" @submit=${onSubmit(create)}>
      <label class="field"><span>${t("topic.name")}</span>
        <input required autocomplete="off" spellcheck="false" .value=${name} @input=${take("name")}></label>
      <div class="fields">
        <label class="field"><span>${t("topic.partitions")}</span>
          <input type="number" min="1" required .value=${String(partitions)} @input=${take("partitions")}></label>
        <label class="field"><span>${t("topic.factor")}</span>
          <input type="number" min="1" required .value=${String(factor)} @input=${take("factor")}></label>
      </div>
      <small>${t("topic.as_line")}</small><code class="line-shown">${line}</code>
      <div class="row">${cancel()}<button class="btn pri">${t("topic.create")}</button></div>
    </form>`);
  }

  bookmark() {
    /** @param {HTMLFormElement} filled */
    const save = (filled) => {
      const name = String(new FormData(filled).get("name")).trim();
      close();
      bookmark(name);
    };
    return dialog(t("transport.bookmark"), html`<form class="field" @submit=${onSubmit(save)}>
      <label class="field"><span>${t("bookmark.name", { at: (player.at_us / 1e6).toFixed(4) })}</span>
        <input name="name" required maxlength="80" autocomplete="off" .value=${t("bookmark.proposal", { n: player.seq })}></label>
      <div class="row">${cancel()}<button class="btn pri">${t("bookmark.save")}</button></div>
    </form>`);
  }

  fork() {
    const names = new Set((index.value?.branches ?? []).map(({ branch }) => branch));
    const stem = here.branch.replace(/-\d+$/, "");
    let number = 2;
    while (names.has(`${stem}-${number}`)) number++;
    /** @param {HTMLFormElement} filled */
    const open = (filled) => {
      close();
      fork("", String(new FormData(filled).get("name")).trim());
    };
    return dialog(t("transport.fork"), html`<form class="field" @submit=${onSubmit(open)}>
      <label class="field"><span>${t("fork.name")}</span>
        <input class="mono" name="name" maxlength="32" autocomplete="off" spellcheck="false" .value=${`${stem}-${number}`}></label>
      <p class="dim">${t("fork.note", { at: (player.at_us / 1e6).toFixed(4), branch: here.branch })}</p>
      <div class="row">${cancel()}<button class="btn pri">${t("transport.fork")}</button></div>
    </form>`);
  }

  /** What the run is to pause at. */
  pause() {
    /** @param {HTMLFormElement} filled */
    const save = async (filled) => {
      if (await pauseWhen(String(new FormData(filled).get("condition")).trim())) close();
    };
    return dialog(t("pause.title"), html`<form class="field" @submit=${onSubmit(save)}>
      <label class="field"><span>${t("pause.condition")}</span>
        <input class="mono" name="condition" required maxlength="200" autocomplete="off" spellcheck="false" list="pauses"
          .value=${moment.peek().pauseWhen}></label>
      <datalist id="pauses">${this.#pauses.value.map((one) => html`<option value=${one}></option>`)}</datalist>
      <p class="dim">${t("pause.note")}</p>
      <div class="row">${cancel()}<button class="btn pri">${t("pause.set")}</button></div>
    </form>`);
  }

  /** @param {NonNullable<typeof pastLine.value>} asked */
  past({ line, resolve }) {
    const { live_at_us, at_us } = moment.value;
    /** @param {"fork" | "now" | ""} choice */
    const answer = (choice) => {
      if (!pastLine.value) return;
      pastLine.value = null;
      resolve(choice);
    };
    return dialog(t("past.title"), html`<p>${t("past.text", { ago: durationText(live_at_us - at_us) })}</p>
      <code class="line-shown">${line}</code>
      <div class="row">
        <button class="btn" @click=${() => answer("")}>${t("dialog.cancel")}</button>
        <button class="btn" @click=${() => answer("now")}>${t("past.now")}</button>
        <button class="btn pri" autofocus @click=${() => answer("fork")}>${t("past.fork")}</button>
      </div>`, () => answer(""));
  }

  render() {
    if (pastLine.value) return this.past(pastLine.value);
    switch (overlay.value?.kind) {
      case "topic": return this.topic();
      case "bookmark": return this.bookmark();
      case "fork": return this.fork();
      case "pause": return this.pause();
      case "find": return findDialog();
      case "help": return helpDialog();
      case "producer":
      case "member": {
        const { kind } = overlay.value;
        return dialog(t(`open.${kind}`), html`<hw-open-client .kind=${kind}></hw-open-client>`);
      }
      case "page": return dialog(t("save_page.title"), html`<hw-save-page></hw-save-page>`);
      case "assignor": return dialog(t("open.assignor"), html`<hw-own-assignor></hw-own-assignor>`);
      case "connect": return dialog(t("connect.title"), html`<hw-connect></hw-connect>
        <div class="row"><button class="btn pri" @click=${close}>${t("dialog.close")}</button></div>`);
      default: return html``;
    }
  }
}
customElements.define("hw-overlays", HwOverlays);
