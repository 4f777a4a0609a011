// Opens players of branches for the lab page.
import { Player } from "../../core/player/player.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * @param {{ run: string, branch: string, at?: number | null, seq?: number | null, isReadOnly?: boolean,
 *   WebSocket?: null, fetch?: typeof fetch }} branch `at` (microseconds) or `seq`: it opens there, in the past; `WebSocket: null`: of a
 *   recording alone, which `fetch` answers for
 */
export const openPlayer = (branch) => new Player({
  url: location.origin, csrf: document.getElementById("lab")?.dataset.csrf, calm: () => still.matches, ...branch,
});
