"""The chapters of the walk, in order. Each has a TITLE and `walk(tour)`, and starts a run of its own."""

from devtools.tour.chapters import (
    analytics,
    clients,
    control_plane,
    disk,
    exercise,
    faults,
    live_class,
    own_files,
    recorded_class,
    records,
    replay,
    restart,
    runs,
    sight,
    solutions,
    time,
)

CHAPTERS = (
    runs,
    records,
    sight,
    time,
    faults,
    replay,
    exercise,
    disk,
    control_plane,
    clients,
    solutions,
    own_files,
    live_class,
    recorded_class,
    analytics,
    restart,
)
