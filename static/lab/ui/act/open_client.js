// The forms in which a producer or a member of a group is opened, with the line that they send.
import { fieldsOf, lineOf } from "../../core/actions/client_forms.js";
import { topicNames } from "../../core/view/selectors.js";
import { zookeeperGroups } from "../../core/view/zookeeper_groups.js";
import { act, overlay } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { onSubmit, onValue } from "../kit/events.js";
import { chosenKey } from "../store/groups.js";
import { t } from "../kit/i18n.js";
import { freeName, sendThrough } from "./produce.js";
import { moment, signal } from "../store/state.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Field, Values } from "../../core/actions/client_forms.js" */
/** @import { View } from "../../core/view/view.d.ts" */

/** @typedef {"producer" | "member"} FormKind */

/**
 * The initial values of a form: another member of the group that is shown, with the subscription of the others.
 * @param {FormKind} kind
 * @param {View} view
 * @returns {Values}
 */
function proposal(kind, view) {
  /** @type {Values} */
  const values = Object.fromEntries(fieldsOf(kind, view).map(({ name, value }) => [name, value]));
  if (kind === "producer") return { ...values, client: freeName(view, "p") };
  const group = view.groups[chosenKey(view) ?? ""] ?? zookeeperGroups(view)[0];
  const read = [...new Set(Object.values(group?.members ?? {}).flatMap(({ topics }) => topics))].join(",");
  const first = topicNames(view).find((name) => !name.startsWith("__")) ?? "";
  return { ...values, client: freeName(view, "c"), "group.id": group?.group ?? values["group.id"], topics: read || first };
}

class HwOpenClient extends HwElement {
  static properties = { kind: {} };
  /** @type {Signal<Values>} */
  #values = signal({});

  constructor() {
    super();
    /** @type {FormKind} */
    this.kind = "producer";
  }

  connectedCallback() {
    super.connectedCallback();
    this.#values.value = proposal(this.kind, moment.peek().view);
  }

  firstUpdated() {
    this.focusOn("input");
  }

  /** @param {string} name @param {string} value */
  #set(name, value) {
    this.#values.value = { ...this.#values.peek(), [name]: value };
  }

  /** @param {string} line */
  async #open(line) {
    const { client } = this.#values.peek();
    overlay.value = null;
    if ((await act(line)) !== null && this.kind === "producer") sendThrough(client);
  }

  /** The control of a field: a choice, a number or a word. @param {Field} field @param {string} value */
  control({ name, choices, least }, value) {
    const take = onValue((chosen) => this.#set(name, chosen));
    if (choices) {
      return html`<select @change=${take}>${choices.map((one) => html`<option value=${one}
        .selected=${one === value}>${one}</option>`)}</select>`;
    }
    if (least !== undefined) return html`<input type="number" required min=${least} step="1" .value=${value} @input=${take}>`;
    const needed = name === "group.id" || name === "topics";
    return html`<input class="mono" autocomplete="off" spellcheck="false" ?required=${needed} .value=${value} @input=${take}>`;
  }

  /** @param {Field} field @param {Values} values */
  field(field, values) {
    const { name } = field;
    const hint = name === "partitioner" ? t(`producers.partitioner_is.${values.partitioner}`) : t(`open.hint.${name}`);
    return html`<label class="field"><span class="mono">${name === "topics" || name === "process" ? t(`open.${name}`) : name}</span>
      ${this.control(field, values[name])}<small>${hint}</small></label>`;
  }

  /** A warning about settings that disable idempotence, which Kafka's own client does silently. @param {Values} values */
  warning(values) {
    if (this.kind !== "producer" || values["enable.idempotence"] !== "true" || values["transactional.id"]) return "";
    if (values.acks === "all" && Number(values["max.in.flight.requests.per.connection"]) <= 5) return "";
    return html`<p class="warn-line">${t("open.no_idempotence")}</p>`;
  }

  render() {
    const { view } = moment.value;
    const values = this.#values.value;
    const fields = fieldsOf(this.kind, view);
    const line = lineOf(this.kind, fields, values);
    return html`<form class="open-client" @submit=${onSubmit(() => this.#open(line))}>
      <p class="dim">${t(`open.${this.kind}_said`, { era: view.run.era })}</p>
      <div class="fields">
        <label class="field"><span>${t("open.client")}</span>
          <input class="mono" required pattern="[A-Za-z][A-Za-z0-9._\\-]{0,39}" autocomplete="off" spellcheck="false"
            .value=${values.client}
            @input=${onValue((value) => this.#set("client", value))}></label>
        ${fields.map((field) => this.field(field, values))}
      </div>
      ${this.warning(values)}
      <small class="dim">${t("topic.as_line")}</small><code class="line-shown">${line}</code>
      <div class="row ends"><button type="button" class="btn" @click=${() => (overlay.value = null)}>${t("dialog.cancel")}</button>
        <button class="btn pri">${t(`open.${this.kind}`)}</button></div>
    </form>`;
  }
}
customElements.define("hw-open-client", HwOpenClient);
