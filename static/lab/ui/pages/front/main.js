// The front page: the recording that plays by itself, and the search field. All else is the server's.
import "../../parts/search.js";
import { startHero } from "./hero.js";

const recording = document.querySelector("[data-recording]");
if (recording instanceof HTMLElement) await startHero(recording);
