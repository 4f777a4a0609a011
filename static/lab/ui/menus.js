// The menu of what can be done to a thing, opened from lists and by key; the picture opens the same one.
import { menuFor } from "../core/menu.js";
import { openMenu } from "../draw/menu.js";
import { act } from "./actions.js";
import { t } from "./i18n.js";
import { moment } from "./state.js";

/** What can be done to a thing: {label, line, harm}. @param {object} view @param {string} what type and id, as in the selection */
export function choicesFor(view, what) {
  const [type, id] = [what.slice(0, what.indexOf(":")), what.slice(what.indexOf(":") + 1)];
  return menuFor(view, { type, id }).map(({ key, values, line, harm }) => ({ label: t(key, values), line, harm }));
}

/** Opens the menu of a thing at a place of the window. */
export function openMenuOf(what, x, y) {
  const [type, id] = [what.slice(0, what.indexOf(":")), what.slice(what.indexOf(":") + 1)];
  const items = menuFor(moment.value.view, { type, id });
  if (items.length) openMenu(items, { x, y, t, title: id, choose: act });
}
