// The projector's page of a class: /classes/<slug>/projector/.
import { effect } from "@preact/signals-core";
import "../../classroom/sound/live_captions.js";
import "../../classroom/projector.js";
import "../../classroom/sound/sound_mark.js";
import { byId } from "../../kit/element.js";
import { keepCode } from "../../classroom/door_code.js";
import { connect } from "../../classroom/connect.js";
import { connection } from "../../classroom/store.js";

const RELOAD_MS = 3000;

// Nobody sits at the big screen to load it again when the lab was updated.
effect(() => {
  if (connection.value.outdated) setTimeout(() => location.reload(), RELOAD_MS);
});

connect(byId("class").dataset.slug ?? "", "projector", keepCode());
