"""The frames between page and server, and the event vocabulary as the page knows it.

Order of a socket: the page opens with `hello`, the server answers `welcome`. Then it sends `snap`, a whole view; or, if
the page holds a seq of the same `boot` that is still in the ring, the deltas after it. From then on it sends `d`, which
has events with their patches and dense seqs, and `clock`, simulated time. The page answers with `ack` after it has
painted. Acts (`do`, `time`, `exercise`, `complete`) carry an id, which the answer has, too: `done`, `completions` or
`no`.

The server stores one position per page and queues no events. At most 8 frames may be unacknowledged, and 16 to 256 KiB,
by how soon frames are acknowledged; then the window is closed, and opens with the next `ack`. A page that missed more
than 2,000 events meanwhile receives a `snap`. `boot` is drawn when the server opens a lab: with another one the page
begins again. `schema` is a digest of the vocabulary: a page that was loaded from another version must be reloaded.

    1011  sending failed; the page reconnects
    4400  the first frame was not a valid `hello`, or too many frames were invalid; the page must be reloaded
    4401  the visitor is not signed in
    4403  the right to see the run has ended, or there is none
    4404  the run or branch does not exist, or was deleted
    4429  too many acts, or answers that are not read; the page reconnects later

`frames.py`        the frames, each a struct, and the close codes
`event_schema.py`  kinds and fields of events, for the page
`marks.py`         the kinds that get a mark on the time line
"""
