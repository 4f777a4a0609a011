// The elements of pages with charts, tables and imports: what they request is answered here.
import { showGroups } from "../frame.js";
import { GROUPS } from "./components.js";

showGroups(GROUPS);
