// The language and theme switches of a standalone page. The choice is kept in the address, with the instant shown.
import { HwElement, html, icon } from "../../kit/element.js";
import { language, t } from "../../kit/i18n.js";

const LANGUAGES = [["en", "EN"], ["zh-CN", "中文"]];

/** The part of the address that names the instant shown. @type {() => Record<string, string>} */
let place = () => ({});
/** @param {typeof place} shown */
export const setPlace = (shown) => void (place = shown);

/** @param {"language" | "theme"} name @param {string} value */
function choose(name, value) {
  const { lang, dataset } = document.documentElement;
  const choices = { language: lang, theme: dataset.theme ?? "dark", ...place(), [name]: value };
  history.replaceState(null, "", `#${new URLSearchParams(choices)}`);
}

/** The texts are read when the page opens. @param {string} value */
function speak(value) {
  choose("language", value);
  location.reload();
}

function changeTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  choose("theme", theme);
  dispatchEvent(new CustomEvent("themechange"));
}

class HwSwitches extends HwElement {
  render() {
    return html`<span class="seg" role="group" aria-label=${t("page.language")}>${LANGUAGES.map(([value, name]) => html`
      <button lang=${value} aria-pressed=${value === language} @click=${() => speak(value)}>${name}</button>`)}</span>
      <button class="chip theme" title=${t("page.theme")} aria-label=${t("page.theme")} @click=${changeTheme}>${icon("theme")}</button>`;
  }
}
customElements.define("hw-switches", HwSwitches);
