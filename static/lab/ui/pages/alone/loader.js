// The first script of a standalone page: extracts the modules, styles and texts from the page, and starts them. A
// module is a list of pieces of its source, separated by the numbers of the modules that it imports, which come before
// it.
import { inflate } from "./inflate.js";

/**
 * @typedef {{ modules: (string | number)[][], styles: string, texts: Record<string, Record<string, string>> }} Program
 */

/** @param {string} content @param {string} type */
const addressOf = (content, type) => URL.createObjectURL(new Blob([content], { type }));

/** @param {string} text of a stylesheet */
function dress(text) {
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: addressOf(text, "text/css") });
  const isThere = new Promise((resolve) => (link.onload = resolve));
  document.head.append(link);
  return isThere;
}

const root = document.documentElement;
const chosen = new URLSearchParams(location.hash.slice(1));
const spoken = navigator.languages.find((one) => /^(en|zh)/.test(one)) ?? "en";
root.lang = (chosen.get("language") ?? spoken).startsWith("zh") ? "zh-CN" : "en";
const isLight = matchMedia("(prefers-color-scheme: light)").matches;
root.dataset.theme = (chosen.get("theme") ?? (isLight ? "light" : "dark")) === "light" ? "light" : "dark";

/** @type {Program} */
const { modules, styles, texts } = JSON.parse(await inflate(document.getElementById("program")?.textContent ?? ""));
await dress(styles);
root.dataset.alone = "dressed";
root.dataset.texts = addressOf(JSON.stringify(texts[root.lang]), "application/json");
/** @type {string[]} */
const addresses = [];
for (const pieces of modules) {
  const source = pieces.map((piece) => (typeof piece === "number" ? addresses[piece] : piece)).join("");
  addresses.push(addressOf(source, "text/javascript"));
}
await import(addresses[addresses.length - 1]);
