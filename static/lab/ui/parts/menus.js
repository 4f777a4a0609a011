// The menu of what can be done to a thing, opened from lists and by key; the picture opens the same one.
import { menuFor } from "../../core/actions/menu.js";
import { openMenu } from "../../draw/menu.js";
import { act, isAlone } from "../store/api.js";
import { t } from "../kit/i18n.js";
import { player, split } from "../store/state.js";

/** @import { Target } from "../../core/view/selectors.js" */
/** @import { View } from "../../core/view/view.d.ts" */

/** @param {string} what @returns {Target} */
function targetOf(what) {
  const [type, id] = split(what);
  return { type: /** @type {Target["type"]} */ (type), id };
}

/**
 * What can be done to a thing: {label, line, harm}. Nothing where there is no lab.
 * @param {View} view
 * @param {string} what
 */
export function choicesFor(view, what) {
  if (isAlone) return [];
  return menuFor(view, targetOf(what)).map(({ key, values, line, harm }) => ({ label: t(key, values), line, harm }));
}

/**
 * Opens the menu of a thing at a place of the window.
 * @param {string} what
 * @param {number} x
 * @param {number} y
 */
export function openMenuOf(what, x, y) {
  openMenu(player, targetOf(what), { x, y, t, choose: act });
}
