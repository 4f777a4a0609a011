// The replay of a class: /classes/<slug>/replay/.
import "../../classroom/heat.js";
import "./actions.js";
import "./bar.js";
import "./captions.js";
import "./keys.js";
import "./side.js";
import "./stage.js";
import "./transport.js";
import { open } from "./store.js";

void open();
