// The replay of a class: /classes/<slug>/replay/.
import "../../classroom/heat.js";
import "./actions.js";
import "./bar.js";
import "./captions.js";
import "./help.js";
import "./keys.js";
import "./lists.js";
import "./save.js";
import "./side.js";
import "./transcript.js";
import "./transport.js";
import { loadLines } from "./lines.js";
import { pictured } from "./stage.js";
import { open } from "./store.js";

// Other marks on the bar are loaded after the picture.
void open().then(pictured).then(loadLines);
