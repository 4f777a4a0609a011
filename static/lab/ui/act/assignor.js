// The form in which a learner defines a custom assignor.
import { word } from "../../core/actions/client_forms.js";
import { act, overlay } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { onSubmit, onValue } from "../kit/events.js";
import { t } from "../kit/i18n.js";
import { moment, signal } from "../store/state.js";

const FORMS = ["give orders-0,orders-1 to c1", "give orders-2..4 to c2", "keep", "keep 2", "members reversed", "members first c3,c1",
  "partitions by topic", "partitions by number",
  "partitions reversed", "deal one by one", "deal in runs", "deal to the least"];

class HwOwnAssignor extends HwElement {
  #values = signal({ name: "mine", rules: "" });

  connectedCallback() {
    super.connectedCallback();
    const known = Object.entries(moment.peek().view.assignors);
    const [name, rules] = known.at(-1) ?? ["mine", "keep; deal to the least"];
    this.#values.value = { name, rules: rules.replaceAll("; ", "\n") };
  }

  firstUpdated() {
    this.focusOn("textarea");
  }

  /** @param {Partial<{ name: string, rules: string }>} more */
  #set(more) {
    this.#values.value = { ...this.#values.peek(), ...more };
  }

  render() {
    const { name, rules } = this.#values.value;
    const line = `assignor define ${word(name)} ${word(rules.split(/[;\n]/).map((one) => one.trim()).filter(Boolean).join("; "))}`;
    const define = async () => {
      if ((await act(line)) !== null) overlay.value = null;
    };
    /** @param {Event} event */
    const add = ({ currentTarget }) => {
      const choice = /** @type {HTMLSelectElement} */ (currentTarget);
      if (choice.value) this.#set({ rules: [rules.trim(), choice.value].filter(Boolean).join("\n") });
      choice.value = "";
    };
    return html`<form class="open-client" @submit=${onSubmit(define)}>
      <p class="dim">${t("assignor.said")}</p>
      <div class="fields">
        <label class="field"><span>${t("assignor.name")}</span><input class="mono" required pattern="[a-z][a-z0-9\\-]{0,39}"
          autocomplete="off" spellcheck="false"
          .value=${name} @input=${onValue((value) => this.#set({ name: value }))}></label>
        <label class="field"><span>${t("assignor.add")}</span><select class="mono"
          @change=${add}><option value="">${t("assignor.add_none")}</option>
          ${FORMS.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
        <label class="field wide"><span>${t("assignor.rules")}</span><textarea class="mono" required rows="6" spellcheck="false"
          .value=${rules}
          @input=${onValue((value) => this.#set({ rules: value }))}></textarea><small>${t("assignor.rules_said")}</small></label>
      </div>
      <small class="dim">${t("topic.as_line")}</small><code class="line-shown">${line}</code>
      <div class="row ends"><button type="button" class="btn" @click=${() => (overlay.value = null)}>${t("dialog.cancel")}</button>
        <button class="btn pri">${t("assignor.define")}</button></div>
    </form>`;
  }
}
customElements.define("hw-own-assignor", HwOwnAssignor);
