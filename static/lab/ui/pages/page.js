// On every page: the switches for theme, density and language, which keep the instant shown; what a tab forgets at sign-out.
import { forgetVotes } from "../kit/kept_votes.js";
import { fetchAhead } from "../kit/ahead.js";
import { closest } from "../kit/events.js";

const YEAR_S = 365 * 24 * 3600;
/** @param {string} name @param {string} value */
const keep = (name, value) => (document.cookie = `${name}=${value}; Max-Age=${YEAR_S}; Path=/; SameSite=Lax`);

addEventListener("click", (event) => {
  const link = closest(event, "[data-preference]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.dataset.preference === "language") {
    // The texts come from the server; the address contains the instant shown.
    keep("language", link.dataset.value ?? "en");
    location.reload();
    return;
  }
  const { dataset } = document.documentElement;
  if (link.dataset.preference === "density") {
    dataset.density = dataset.density === "compact" ? "comfortable" : "compact";
    keep("density", dataset.density);
    dispatchEvent(new CustomEvent("densitychange"));
    return;
  }
  dataset.theme = dataset.theme === "dark" ? "light" : "dark";
  keep("theme", dataset.theme);
  dispatchEvent(new CustomEvent("themechange"));
});

// A person who leaves a class or signs out leaves no answers for the next person at this tab.
addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (/\/(leave|erase|sign-out)$/.test(form.getAttribute("action") ?? "")) forgetVotes();
});

// Menus made of <details> close when something else is clicked, or by Escape.
const openMenus = () => document.querySelectorAll("details.pop[open], details.acts[open]");
addEventListener("click", (event) => openMenus().forEach((menu) => menu.contains(/** @type {Node} */ (event.target))
  || menu.removeAttribute("open")));
addEventListener("keydown", (event) => event.key === "Escape" && openMenus().forEach((menu) => menu.removeAttribute("open")));

// The front page starts this itself, after its recording and search field.
addEventListener("load", () => document.querySelector("[data-recording]") ?? fetchAhead());
