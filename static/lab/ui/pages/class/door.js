// The door of a class, for staff: looks for people who have come, as long as nobody uses a control of the page.
const LOOK_MS = 3000;
const page = document.querySelector("main[data-refresh]");

/** Whether somebody types or has opened a menu: what they are at must not go away under their hands. */
function isInUse() {
  return Boolean(page?.querySelector("details[open]") || page?.contains(document.activeElement));
}

/** @returns {Promise<void>} */
async function look() {
  try {
    if (!document.hidden && !isInUse()) {
      const answer = await fetch(page?.getAttribute("data-refresh") ?? "");
      const shown = answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main") : null;
      if (shown && page && !isInUse()) page.replaceChildren(...shown.children);
    }
  } catch {
    // The network is away: the next look may find it.
  }
  setTimeout(look, LOOK_MS);
}

if (page) setTimeout(look, LOOK_MS);

export {}; // a module of its own
