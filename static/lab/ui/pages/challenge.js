// The page of a challenge: shows the progress of a judgement, then its verdict.
const POLL_MS = 1000;
const judging = document.querySelector("[data-progress]");
const bar = judging?.querySelector("progress");
const said = judging?.querySelector("[role=status]");

/** @returns {Promise<void>} */
async function poll() {
  const answer = await fetch(judging?.getAttribute("data-progress") ?? "").catch(() => null);
  if (!answer) return void setTimeout(poll, POLL_MS); // The server is away.
  if (!answer.ok) return location.reload();
  /** @type {{ state: string, done: number, said: string }} */
  const now = await answer.json();
  if (now.state !== "judging") return location.reload();
  if (bar) bar.value = now.done;
  if (said) said.textContent = now.said;
  setTimeout(poll, POLL_MS);
}

if (judging) setTimeout(poll, POLL_MS / 4);
