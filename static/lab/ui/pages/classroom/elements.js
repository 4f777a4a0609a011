// The elements of the instructor's page.
import "../../classroom/sound/captions.js";
import "../../classroom/chapters.js";
import "../../classroom/class_bar.js";
import "../../classroom/class_top.js";
import "../../classroom/hands.js";
import "../../classroom/sound/heard.js";
import "../../classroom/heat.js";
import "../../classroom/lesson.js";
import "../../classroom/sound/microphone.js";
import "../../classroom/mistakes.js";
import "../../classroom/people.js";
import "../../classroom/person.js";
import "../../classroom/poll_panel.js";
import "../../classroom/wall.js";
import "../../classroom/refusal.js";
