// The page for the big screen of a class: /classes/<slug>/projector/.
import "../../classroom/projector.js";
import { connect } from "./connect.js";

connect("projector");
