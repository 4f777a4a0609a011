// Whether the lab of a lesson that is recorded without a class is shown in the recording.
import { act, clockText, connection, now_us, tree } from "../../classroom/store.js";
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";

class HwRecorder extends HwElement {
  render() {
    const { lead, mine, recording } = tree.value;
    const lab = mine?.lab ?? "";
    if (!mine) return "";
    return html`<span class="chip mono">${clockText(now_us.value)}</span>
      ${lab ? html`<a class="btn" href="/r/${lab}" target="_blank">${t("recorder.open_lab")}</a>` : ""}
      ${lead ? html`<span class="tag ${recording ? "bad" : "warn"}" role="status">● ${
            t(recording ? "recorder.is_shown" : "board.is_off_record")}</span>
          <button class="btn small" @click=${() => act({ op: "end_lead" })}>${t("recorder.hide_lab")}</button>`
        : html`<button class="btn pri" ?disabled=${!lab} @click=${() => act({ op: "take_lead", lab })}>${t("recorder.show_lab")}</button>
          <span class="dim">${t("recorder.is_hidden")}</span>`}
      ${connection.value.state === "lost" ? html`<span class="tag warn" role="status">${t("recorder.lost")}</span>` : ""}`;
  }
}
customElements.define("hw-recorder", HwRecorder);
