"""What is marked ``sensitive: true`` does not leave with a redacted history, nor what came out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim_runtime.history.chain import lines_of
from sim_runtime.history.encoding import record_json
from sim_runtime.history.header import Header
from sim_runtime.history.load import History, read_history
from sim_runtime.history.redact import Unreadable, redacted
from tests.sim.history.stories import Json, played, write

SECRETS = ("4111-1111", "tok-77", "4821")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Json], list[Json], str]:
    simulation = played(write(tmp_path_factory.mktemp("story")))
    before = [record_json(record) for record in simulation.run.records]
    after = redacted(simulation.header, before)
    return before, after, "".join(lines_of(simulation.header, after))


@pytest.fixture(scope="module")
def history(both: tuple[list[Json], list[Json], str]) -> History:
    return read_history(line.encode() for line in both[2].splitlines(keepends=True))


def data_of(records: list[Json], kind: str, path: str) -> Json:
    return next(each["data"] for each in records if (each["kind"], each["path"]) == (kind, path))


def test_nothing_that_is_marked_is_left(both: tuple[list[Json], list[Json], str]) -> None:
    before, _, text = both
    whole = json.dumps(before)
    for secret in SECRETS:
        assert secret in whole
        assert secret not in text


def test_each_place_has_its_class(both: tuple[list[Json], list[Json], str]) -> None:
    _, after, _ = both
    assert data_of(after, "run.accepted", "")["inputs"] == {"card": {"$withheld": "inputs"}, "customer": "kim"}
    assert data_of(after, "action.prepared", "seen")["arguments"] == {"card": {"$withheld": "arguments"}, "n": 1}
    assert data_of(after, "action.succeeded", "seen")["result"] == {"token": {"$withheld": "result"}, "ok": True}
    prepared = data_of(after, "action.prepared", "charge")
    assert prepared["arguments"] == {"token": {"$withheld": "arguments"}, "note": {"$withheld": "arguments"}}
    event = data_of(after, "event.accepted", "paid")["payload"]
    assert event == {"id": "c-1", "pin": {"$withheld": "event.payload"}}
    result = data_of(after, "run.finished", "")["result"]
    assert result == {"token": {"$withheld": "result"}, "customer": "kim", "pin": {"$withheld": "result"}}


def test_the_rest_is_as_it_was(both: tuple[list[Json], list[Json], str]) -> None:
    before, after, _ = both
    assert [(e["seq"], e["kind"], e["path"], e["at"]) for e in after] == [
        (e["seq"], e["kind"], e["path"], e["at"]) for e in before
    ]
    charged = data_of(after, "action.succeeded", "charge")
    assert charged == data_of(before, "action.succeeded", "charge")
    assert charged["kinds"] == {"/result/at": "timestamp"}


@pytest.mark.requirement("D-HIST-10")
def test_a_redacted_history_is_valid_and_says_what_it_lacks(history: History) -> None:
    assert history.cut == 0
    found = {(each.path, each.class_) for each in history.withheld}
    assert {("", "inputs"), ("seen", "arguments"), ("seen", "result"), ("paid", "event.payload")} <= found
    assert history.records[0].data["inputs"]["card"] == {"$withheld": "inputs"}


def test_without_the_pinned_content_nothing_is_redacted(tmp_path: Path) -> None:
    simulation = played(write(tmp_path))
    pins = {**simulation.header.pins, "content": {}}
    with pytest.raises(Unreadable, match="says what is sensitive"):
        redacted(Header(simulation.run.run_id, "order", pins), [])
