// The elements of a class: of its board, of its projector, and of the learner's panel.
import "../../../classroom/learner_panel.js";
import "../../../classroom/projector.js";
import "../../../classroom/sound/live_captions.js";
import "../../../classroom/thing_field.js";
import { classSlug, join } from "../../../classroom/store.js";
import "../../classroom/board_tab.js";
import "../../classroom/recorder_bar.js";
import { answer } from "../answers.js";
import { showGroups } from "../frame.js";
import { GROUPS } from "./components.js";
import { ROOM, showClass } from "./state.js";

answer("/api/classes/gallery/mistakes/005-the-lost-record.json", {});
classSlug.value = "gallery";
join(ROOM);
showClass();
showGroups(GROUPS, { stays: true });
