// The page of a person waiting to be admitted: reloads when staff have decided.
const POLL_MS = 2000;
const waiting = document.querySelector("[data-presence]");

/** @returns {Promise<void>} */
async function poll() {
  try {
    const answer = await fetch(waiting?.getAttribute("data-presence") ?? "");
    /** @type {{ presence: string }} */
    const now = answer.ok ? await answer.json() : { presence: "waiting" };
    if (now.presence !== "waiting") return location.reload();
  } catch {
    // The network is down; the next poll may succeed.
  }
  setTimeout(poll, POLL_MS);
}

if (waiting) setTimeout(poll, POLL_MS);

export {}; // a module of its own
