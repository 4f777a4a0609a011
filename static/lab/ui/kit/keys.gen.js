// Written by `manage.py gen_events` from lab/texts/keys.py. Do not change it by hand.

/** The symbols of the controls whose keys a text names. @type {Record<string, string>} */
export const CONTROLS = { "Space": "play", "空格": "play", "Enter": "step", "Tab": "complete", "]": "speed", "G": "groups", "`": "console" };
/** A key after the name of what it does, as in "play (`Space`)". */
export const KEY_OF_A_CONTROL = /[(（](?:`(?:Space|空格|Enter|Tab|\]|G)`|`` ` ``)[)）]/g;
