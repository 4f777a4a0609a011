// The page that asks for a name: a button suggests another one.
import { forgetVotes } from "../../kit/kept_votes.js";

const button = /** @type {HTMLButtonElement | null} */ (document.querySelector("[data-offer]"));
const field = /** @type {HTMLInputElement | null} */ (document.getElementById("name"));

if (button && field) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const answer = await fetch(button.dataset.offer ?? "");
    if (answer.ok) field.value = await answer.text();
  });
}

// A new participant may be another person at the same tab.
forgetVotes();
