// Says to everybody in a class that its sound is recorded, as long as it is.
import { HwElement, html } from "../../kit/element.js";
import { t } from "../../kit/i18n.js";
import { tree } from "../store.js";

class HwSoundMark extends HwElement {
  render() {
    const { audio, recording, class: info } = tree.value;
    const isOn = audio?.p && recording && !info?.ended;
    return html`<span role="alert">${isOn ? html`<span class="tag bad" title=${t("sound.mark_title", { name: audio.name
      || t("board.role.instructor") })}>● ${t("sound.mark")}</span>` : ""}</span>`;
  }
}
customElements.define("hw-sound-mark", HwSoundMark);
