// The elements of the instructor's page.
import "../../classroom/captions.js";
import "../../classroom/chapters.js";
import "../../classroom/class_bar.js";
import "../../classroom/class_top.js";
import "../../classroom/hands.js";
import "../../classroom/heard.js";
import "../../classroom/heat.js";
import "../../classroom/microphone.js";
import "../../classroom/people.js";
import "../../classroom/person.js";
import "../../classroom/poll_panel.js";
import "../../classroom/wall.js";
import "../../classroom/refusal.js";
