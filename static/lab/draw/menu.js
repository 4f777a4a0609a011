// The context menu of a thing: of the drawings, of lists, by key.

import { menuFor } from "../core/actions/menu.js";
import { boxOf, zoom } from "./zoom.js";

/** @import { MenuItem } from "../core/actions/menu.js" */
/** @import { Player } from "../core/player/player.js" */
/** @import { Target } from "../core/view/selectors.js" */
/** @import { Translate } from "../core/texts.js" */

/** Closes the menu that is open. */
export const closeMenu = () => /** @type {HTMLElement & { close?: () => void } | null} */ (document.querySelector(".hw-menu"))?.close?.();

/**
 * Opens the menu of a thing at a place, if there is anything to choose; it closes by choosing, Escape, or a press elsewhere.
 * It follows the thing: what cannot be done any more keeps its place and is dimmed, so that nothing slides under the
 * pointer; what can be done now comes below.
 * @param {Player} player @param {Target} target
 * @param {{ x: number, y: number, t: Translate, choose: (line: string) => void }} options x and y in the window, px of the page
 */
export function openMenu(player, target, { x, y, t, choose }) {
  const choices = () => (player.view ? menuFor(player.view, target) : []);
  if (!choices().length) return;
  closeMenu();
  const menu = frameOf(target);
  const before = /** @type {HTMLElement | SVGElement | null} */ (document.activeElement);
  const close = () => {
    menu.remove();
    unsubscribe();
    removeEventListener("pointerdown", outside, true);
    removeEventListener("blur", close);
    before?.focus?.();
  };
  /** @param {PointerEvent} event */
  const outside = (event) => {
    if (!menu.contains(/** @type {Node} */ (event.target))) close();
  };
  menu.close = close;
  /** @type {Map<string, HTMLButtonElement>} the choices there are and were, by their lines */
  const buttons = new Map();
  /** @param {MenuItem} choice */
  const add = (choice) => {
    const button = itemOf(choice, t);
    button.onclick = () => {
      if (button.ariaDisabled) return;
      close();
      choose(choice.line);
    };
    buttons.set(choice.line, button);
    menu.append(button);
  };
  const place = () => {
    const { w, h } = boxOf(menu);
    menu.style.left = `${Math.max(4, Math.min(x, innerWidth / zoom() - w - 4))}px`;
    menu.style.top = `${Math.max(4, Math.min(y, innerHeight / zoom() - h - 4))}px`;
  };
  const follow = () => {
    const now = choices();
    const fresh = now.filter(({ line }) => !buttons.has(line));
    fresh.forEach(add);
    for (const [line, button] of buttons) {
      const gone = !now.some((choice) => choice.line === line);
      button.ariaDisabled = gone || "unavailable" in button.dataset ? "true" : null; // the page marks what its visitor may not do
      button.title = gone ? t("draw.menu.gone") : "";
    }
    if (fresh.length) place();
  };
  menu.onkeydown = (event) => walk(event, [...buttons.values()], close);
  document.body.append(menu);
  follow();
  const unsubscribe = player.subscribe(follow);
  menu.querySelector("button")?.focus();
  addEventListener("pointerdown", outside, true);
  addEventListener("blur", close);
}

/** An empty menu with its title. @param {Target} target @returns {HTMLElement & { close?: () => void }} */
function frameOf(target) {
  const menu = document.createElement("div");
  menu.className = "hw-menu";
  menu.setAttribute("role", "menu");
  menu.setAttribute("aria-label", target.id);
  const head = document.createElement("div");
  head.className = "hw-menu-title";
  head.textContent = target.id;
  menu.append(head);
  return menu;
}

/** The button of a choice: its words, and the line that it sends. @param {MenuItem} choice @param {Translate} t */
function itemOf({ key, values, line, harm }, t) {
  const button = document.createElement("button");
  button.setAttribute("role", "menuitem");
  button.dataset.takes = "act";
  button.className = harm ? "harm" : "";
  const words = document.createElement("span");
  words.textContent = t(key, values);
  const code = document.createElement("code");
  code.textContent = line;
  button.append(words, code);
  return button;
}

/** The keyboard in a menu. @param {KeyboardEvent} event @param {HTMLButtonElement[]} all @param {() => void} close */
function walk(event, all, close) {
  const i = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step) all[(i + step + all.length) % all.length].focus();
  else if (event.key === "Escape" || event.key === "Tab") close();
  event.stopPropagation(); // while the menu has the focus, keys are not for the page
  if (step || event.key === "Escape" || event.key === "Tab") event.preventDefault();
}
