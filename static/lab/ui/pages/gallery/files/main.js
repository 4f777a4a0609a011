// The elements of the page that inspects files of the visitor: those of the sample that the page has.
import { showGroups } from "../frame.js";
import { GROUPS } from "./components.js";

showGroups(GROUPS, { stays: true });
