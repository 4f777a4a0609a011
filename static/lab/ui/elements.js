// All elements of the lab page.
import "./act.js";
import "./bars.js";
import "./changes.js";
import "./console.js";
import "./exercise.js";
import "./files.js";
import "./inspect.js";
import "./inspector.js";
import "./keys.js";
import "./messages.js";
import "./overlays.js";
import "./rpcs.js";
import "./side.js";
import "./table.js";
import "./transport.js";
import "./tree.js";
