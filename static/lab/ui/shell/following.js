// The presenter of the class, and whether this page follows: a button in the bar at the top.
import { HwElement, byId, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { isBeside, isWide, toggleBeside } from "../store/beside.js";
import { isFollowing, isHeld, lead, toggleFollow } from "../store/follow.js";
import { effect } from "../store/state.js";

class HwFollowing extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    effect(() => void byId("lab").classList.toggle("following", isFollowing.value));
  }

  render() {
    const name = lead.value?.name;
    if (name === undefined) return "";
    const title = t(isHeld.value ? "follow.held" : isFollowing.value ? "follow.leave" : "follow.follow", { name });
    const beside = isWide.value ? html`<button class="chip" aria-pressed=${isBeside.value} ?disabled=${isHeld.value}
      title=${t("beside.title_long", { name })} @click=${toggleBeside}>${t("beside.show")}</button>` : "";
    return html`${beside}<button class="chip follow" aria-pressed=${isFollowing.value} ?disabled=${isHeld.value} title="${title} ( F )"
      @click=${toggleFollow}><span class="dot" aria-hidden="true"></span><span>${
        t(isFollowing.value ? "follow.following" : "follow.leads", { name })}</span> <kbd>F</kbd></button>`;
  }
}
customElements.define("hw-following", HwFollowing);
