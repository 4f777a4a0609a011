// The page on which a lesson is recorded without a class: /classes/<slug>/board/ of a class of one.
import "../../classroom/sound/captions.js";
import "../../classroom/chapters.js";
import "../../classroom/sound/microphone.js";
import "../../classroom/refusal.js";
import "./recorder_bar.js";
import { connect } from "../../classroom/connect.js";
import { byId } from "../../kit/element.js";

connect(byId("class").dataset.slug ?? "", "board");
