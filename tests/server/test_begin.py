"""A study is begun over HTTP from the fields of a study file."""

import pytest

from bestk import Study
from bestk.commands.study_file import KEYS
from bestk.errors import StorageError
from bestk.rewards import FAMILIES
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study.shared import SharedStudy
from helpers.served import called, serving

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'bestk[serve]'")
TIMES = {
    "name": "times", "arms": ["a", "b"], "k": 1, "delta": 0.1, "epsilon": 0.05,
    "rewards": "quantile", "q": 0.9, "relative": True, "direction": "minimize", "costs": [1, 2],
    "policy": "e-lucb", "params": {}, "seed": 3, "lost": "skip",
}  # fmt: skip


def test_every_key_and_every_family_of_a_study_file_is_known():
    from bestk.server.messages import NewStudy

    assert set(KEYS["study"]) <= set(NewStudy.model_fields)
    rewards = NewStudy.model_json_schema()["properties"]["rewards"]["anyOf"][0]["enum"]
    assert sorted(rewards) == sorted(FAMILIES)


def test_a_study_of_quantiles_is_begun_as_it_is_said(tmp_path):
    with serving(tmp_path / "s.db") as server:
        begun = server.post("/api/studies", TIMES)
        assert begun.status == 201, begun.text
        assert server.post("/api/studies", {**TIMES, "relative": False}).status == 409
        begun = server.get("/api/studies/times/specification").data["problem"]
        assert begun["rewards"] == {"family": "quantile", "q": 0.9, "relative": True}
        assert (begun["costs"], begun["maximize"]) == ([1.0, 2.0], False)
        plain = {"name": "coins", "arms": ["a", "b"], "k": 1, "rewards": "bernoulli", "q": 0.5}
        assert server.post("/api/studies", plain).status == 400


def test_a_study_that_cannot_be_used_here_is_listed_with_the_reason(tmp_path):
    storage = SQLiteStorage(tmp_path / "s.db")
    for name in ("good", "no/address", ".."):
        Study(name, ["a", "b"], k=1, storage=storage)
    storage.append("broken", [Event(ev.CREATED, data="{}")])
    with serving(tmp_path / "s.db") as server:
        listed = server.get("/api/studies").data["studies"]
        problems = {each["name"]: each.get("problem", "") for each in listed}
        assert problems.keys() == {"good", "no/address", "..", "broken"}
        assert problems["good"] == ""
        assert problems["no/address"] == problems[".."] != ""
        assert "cannot be read" in problems["broken"]
        assert server.get("/api/studies/broken").status == 503


def test_of_a_storage_that_goes_away_no_study_is_said_to_be_damaged(tmp_path, monkeypatch):
    from bestk.server.app import guarded
    from bestk.server.hall import Hall
    from bestk.server.limits import Limits

    def go(*_):
        raise StorageError("the database cannot be reached")

    storage = SQLiteStorage(tmp_path / "s.db")
    Study("good", ["a", "b"], k=1, storage=storage)
    look = SharedStudy.look

    def look_away(_):  # after the names of the studies were read
        monkeypatch.setattr(storage, "studies", go)
        go()

    app = guarded(Hall(str(tmp_path / "s.db"), storage, Limits(), local=True))
    assert called(app) == 200
    monkeypatch.setattr(SharedStudy, "look", look_away)
    assert called(app) == 503
    monkeypatch.setattr(SharedStudy, "look", look)
    monkeypatch.delattr(storage, "studies")
    assert called(app) == 200  # it is back
