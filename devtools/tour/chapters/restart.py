"""The lab is killed and starts again: the runs are listed, and open pages resume."""

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour

TITLE = "restart"
#: Errors of a browser that connects to a lab that does not run (refused) or was killed meanwhile (reset).
NOBODY_ANSWERED = "ERR_CONNECTION_RE"


def walk(tour: Tour) -> None:
    process = tour.process
    if process is None:
        return
    lab = LabPage.of_new_run(tour, "Tour: killed and started again").with_orders(partitions=1)
    lab.produce_to("orders-0").get_by_role("button", name="Produce 100").click()
    lab.until(lambda seen: seen.partitions["orders-0"].lanes["b1"].hw == 100, "100 records")
    before = lab.pause()

    with tour.stop("kill -9: the page says that the connection is lost"):
        process.kill()
        lab.until(lambda seen: "Connection lost" in seen.connection, "a word of the lost connection")

    with tour.stop("the next start: the page is back, and shows the recording"):
        tour.address = process.start()
        seen = lab.until(lambda seen: seen.connection == "recorded", "a page that shows the recording")
        assert seen.is_paused and seen.event == before.event, f"It is at event {seen.event}, it was at {before.event}."
        assert seen.partitions == before.partitions, "The strips are not the same."

    with tour.stop("acting rebuilds the cluster"):
        lab.play()
        lab.produce("orders-0", "after the restart")
        lab.until(lambda seen: seen.partitions["orders-0"].lanes["b1"].hw == 101, "the record after the restart")
        tour.forgive(NOBODY_ANSWERED)
