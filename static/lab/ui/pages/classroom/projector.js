// The projector's page of a class: /classes/<slug>/projector/.
import "../../classroom/sound/live_captions.js";
import "../../classroom/projector.js";
import "../../classroom/sound/sound_mark.js";
import { byId } from "../../kit/element.js";
import { keepCode } from "../../classroom/door_code.js";
import { connect } from "../../classroom/connect.js";

connect(byId("class").dataset.slug ?? "", "projector", keepCode());
