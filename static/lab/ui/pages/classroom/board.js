// The instructor's page of a class: /classes/<slug>/board/.
import "./elements.js";
import { HwElement, byId, html } from "../../kit/element.js";
import { board } from "../../classroom/board_state.js";
import { keepCode } from "../../classroom/door_code.js";
import { connect } from "../../classroom/connect.js";

class HwBoardTab extends HwElement {
  render() {
    switch (board.value.tab) {
      case "heat": return html`<hw-heat></hw-heat>`;
      case "people": return html`<hw-people></hw-people>`;
    }
    return html`<hw-wall></hw-wall>`;
  }
}
customElements.define("hw-board-tab", HwBoardTab);

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
