// The refusal of what was done last in the class, until it is closed.
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { refused } from "./store.js";

class HwClassRefusal extends HwElement {
  render() {
    const no = refused.value;
    return no ? html`<div class="message bad" role="alert"><button class="close" aria-label=${t("message.close")}
      @click=${() => (refused.value = null)}>×</button>
      <b>${no.what}</b>${[no.expected, no.todo].filter(Boolean).map((text) => html`<span>${text}</span>`)}</div>` : "";
  }
}
customElements.define("hw-class-refusal", HwClassRefusal);
