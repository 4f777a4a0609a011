// The menu of what can be done to a thing, opened from lists and by key; the picture opens the same one.
import { menuFor } from "../../core/actions/menu.js";
import { openMenu } from "../../draw/menu.js";
import { act } from "../store/api.js";
import { t } from "../kit/i18n.js";
import { player, split } from "../store/state.js";

function targetOf(what) {
  const [type, id] = split(what);
  return { type, id };
}

/** What can be done to a thing: {label, line, harm}. @param {object} view @param {string} what type and id, as in the selection */
export function choicesFor(view, what) {
  return menuFor(view, targetOf(what)).map(({ key, values, line, harm }) => ({ label: t(key, values), line, harm }));
}

/** Opens the menu of a thing at a place of the window. */
export function openMenuOf(what, x, y) {
  openMenu(player, targetOf(what), { x, y, t, choose: act });
}
