"""The controller's state machines as the page gets them, and what the page says about them and about invariants."""

import re

from broker_core.controller.partition_state_machine import PartitionState
from broker_core.controller.replica_state_machine import ReplicaState
from broker_core.groups.states import GroupState
from broker_core.sim.invariants import INVARIANTS
from broker_core.transactions.states import TransactionState
from lab.api.state_charts import state_charts
from lab.texts.i18n import LANGUAGES, catalogue
from tests.support.paths import ROOT


def test_charts_are_the_tables_of_controller_and_coordinator() -> None:
    charts = state_charts()
    assert charts["partition"]["states"][0] == "NonExistentPartition"
    assert charts["partition"]["previous"]["OnlinePartition"] == ["NewPartition", "OnlinePartition", "OfflinePartition"]
    assert set(charts["partition"]["states"]) == {state.value for state in PartitionState}
    assert set(charts["replica"]["states"]) == {state.value for state in ReplicaState}
    assert charts["group"]["states"][0] == "Empty"
    assert set(charts["group"]["states"]) == {state.value for state in GroupState}
    assert charts["transaction"]["states"][0] == "Empty"
    assert charts["transaction"]["previous"]["PrepareAbort"] == ["Ongoing", "PrepareEpochFence"]
    assert set(charts["transaction"]["states"]) == {state.value for state in TransactionState}
    for chart in charts.values():
        assert list(chart["previous"]) == chart["states"]
        assert {one for previous in chart["previous"].values() for one in previous} <= set(chart["states"])


def test_every_state_has_a_sentence_in_both_languages() -> None:
    for language in LANGUAGES:
        texts = catalogue(language)
        for state in (*PartitionState, *ReplicaState, *GroupState):
            assert f"state.{state}" in texts
        for state in TransactionState:
            assert f"state.{state}" in texts or f"state.transaction.{state}" in texts


def test_page_has_a_text_for_each_invariant() -> None:
    module = (ROOT / "static/lab/core/view/alarms.js").read_text(encoding="utf-8")
    assert set(re.findall(r'"(I-[A-Z]+)":', module)) == set(INVARIANTS)
