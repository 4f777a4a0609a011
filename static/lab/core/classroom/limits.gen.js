// Written by `manage.py gen_events` from lab/classroom. Do not change it by hand.

/** The most characters of a caption. */
export const MAX_CAPTION_TEXT = 500;
