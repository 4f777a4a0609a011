// The door of a class, for staff: polls for new people while no control of the page is in use.
const LOOK_MS = 3000;
const page = document.querySelector("main[data-refresh]");

/** Whether a field has the focus or a menu is open; a reload would discard its state. */
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
    // The network is down; the next poll may succeed.
  }
  setTimeout(look, LOOK_MS);
}

if (page) setTimeout(look, LOOK_MS);

export {}; // a module of its own
