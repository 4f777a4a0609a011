// The instructor's page of a class: /classes/<slug>/board/.
import "./board_tab.js";
import { byId } from "../../kit/element.js";
import { keepCode } from "../../classroom/door_code.js";
import { connect } from "../../classroom/connect.js";

/** Puts the class's controls, the poll and the hands before the wall where they are shown there: Tab follows the order of the document. */
function arrange() {
  const [wall, side, dock, lesson, bar] = [".board-wall", ".board-side", ".board-dock", "hw-class-lesson", "hw-class-bar"].map((part) =>
    document.querySelector(part));
  if (!wall || !side || !dock || !lesson || !bar) return;
  if (isNarrow.matches) wall.before(lesson, bar, side);
  else {
    wall.after(side);
    dock.prepend(lesson, bar);
  }
}

const isNarrow = matchMedia("(max-width: 820px)");
isNarrow.addEventListener("change", arrange);
if (isNarrow.matches) arrange();

connect(byId("class").dataset.slug ?? "", "board", keepCode());
