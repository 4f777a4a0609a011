// The context menu of the drawings. Its lines go out as "hw-command"; the page sends them, or forks first.

/** @import { MenuItem } from "../core/menu.js" */
/** @import { Translate } from "./topology.js" */

/**
 * Opens a menu at a place; it closes by choosing, Escape, or a press elsewhere.
 * @param {MenuItem[]} items
 * @param {{ x: number, y: number, title: string, t: Translate, choose: (line: string) => void }} options x and y in the window
 */
export function openMenu(items, { x, y, title, t, choose }) {
  document.querySelector(".hw-menu")?.remove();
  const menu = document.createElement("div");
  menu.className = "hw-menu";
  menu.setAttribute("role", "menu");
  menu.setAttribute("aria-label", title);
  const head = document.createElement("div");
  head.className = "hw-menu-title";
  head.textContent = title;
  menu.append(head);
  const before = /** @type {HTMLElement | SVGElement | null} */ (document.activeElement);
  const close = () => {
    menu.remove();
    removeEventListener("pointerdown", outside, true);
    removeEventListener("blur", close);
    before?.focus?.();
  };
  /** @param {PointerEvent} event */
  const outside = (event) => {
    if (!menu.contains(/** @type {Node} */ (event.target))) close();
  };
  const buttons = items.map(({ key, values, line, harm }) => {
    const button = document.createElement("button");
    button.setAttribute("role", "menuitem");
    button.className = harm ? "harm" : "";
    const words = document.createElement("span");
    words.textContent = t(key, values);
    const code = document.createElement("code");
    code.textContent = line;
    button.append(words, code);
    button.onclick = () => {
      close();
      choose(line);
    };
    return button;
  });
  menu.append(...buttons);
  menu.onkeydown = (event) => {
    const i = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) buttons[(i + step + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape") close();
    else if (event.key !== "Tab") return;
    event.preventDefault();
    event.stopPropagation();
  };
  document.body.append(menu);
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
  buttons[0]?.focus();
  addEventListener("pointerdown", outside, true);
  addEventListener("blur", close);
}
