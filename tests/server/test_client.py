"""`bestk.connect`, `identify` and `bestk run` against a real server."""

import json
import socket
import threading
import time
import warnings
from pathlib import Path

import pytest

import bestk
from bestk import InputError, PullError, Study, identify
from bestk.client import connection
from bestk.client.connection import Connection
from bestk.errors import StorageError
from bestk.study.reading import observations, open_storage
from bestk.study.remote import RemoteStudy
from helpers.command import bestk as bestk_command
from helpers.command import good, process
from helpers.served import serving

ARMS = ["a", ("b", 2), "c"]
MEANS = {"a": 0.9, ("b", 2): 0.1, "c": 0.2}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("client") / "studies.db"
    with serving(path) as found:
        found.path, found.url = path, f"http://127.0.0.1:{found.port}"
        yield found


def test_a_study_at_a_server_has_the_methods_of_a_study(server):
    study = bestk.connect(server.url).study("methods", ARMS, k=1, rewards=bestk.Bernoulli())
    assert study.arms == tuple(ARMS)
    first, second, third = study.ask(3)
    study.tell(first, 1, {"cost": 2.5})
    study.tell_many([(first, 1), (second, 0)])
    assert repr(study) == f"RemoteStudy('methods' at {server.url}: 3 arms, 2 samples)"
    with pytest.raises(PullError, match="second answer"):
        study.tell(first, 0)
    study.forget(third)
    (fourth,) = study.ask()
    study.fail(fourth, "broke")
    for _ in range(2):
        study.add("a", 1, "elsewhere")
    kept = Study("methods", storage=server.path)
    assert (study.samples, study.open, study.totals) == (3, [], {"cost": 2.5})
    assert study.result.to_dict() == kept.result.to_dict()
    assert bestk.connect(server.url).study("methods").ask() != []


def test_what_a_study_at_a_server_lacks_is_said(server):
    lacks = {name for name in dir(Study) if not name.startswith("_")} - set(dir(RemoteStudy))
    said = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    assert lacks == {"ask_each", "is_held_elsewhere", "stopped_at"}
    assert all(f"`{name}`" in said for name in lacks)
    study = bestk.connect(server.url).study("seconds", ARMS, k=1)
    study.tell_many([(pull, 0.5) for pull in study.ask(2)])
    assert study.seconds == Study("seconds", storage=server.path).seconds > 0.0


def test_what_is_given_must_agree_with_the_study_that_is_there(server):
    there = bestk.connect(server.url)
    there.study("agreed", ARMS, k=1)
    assert "agreed" in there.studies()
    with pytest.raises(InputError, match="k=2"):
        there.study("agreed", ARMS, k=2)
    with pytest.raises(InputError, match="give name= to begin another study"):
        there.study("agreed", [*ARMS, "d"], k=1)
    with pytest.raises(InputError, match="no study called"):
        there.study("unheard of")


@pytest.mark.parametrize("command", [("status",), ("verify", __file__), ("report",)])
def test_a_command_that_reads_the_log_says_what_to_do_about_a_server(command):
    done = bestk_command(*command, "http://127.0.0.1:1")
    said = " ".join(done.stderr.replace("\u2502", " ").split())
    assert done.returncode == 2
    assert "open the address in a browser" in said
    assert "`bestk backup`" in said


def test_a_port_that_is_taken_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = process("serve", str(tmp_path / "s.db"), "--port", str(port))
    assert done.returncode == 2
    assert "another program is listening there: give another --port, or 0" in done.stderr


def test_no_token_to_revoke_is_said(tmp_path):
    done = bestk_command("token", "revoke", "zzz", tmp_path / "s.db")
    assert done.returncode == 2
    assert f"there are no tokens in {tmp_path / 's.db'}" in done.stderr
    good("token", "create", "--role", "view", "--json", tmp_path / "s.db")
    assert (
        "unknown token 'zzz'" in bestk_command("token", "revoke", "zzz", tmp_path / "s.db").stderr
    )


def test_two_workers_share_a_study_to_its_end(server):
    """All rewards are the means: which arm wins is certain."""

    def work():
        settings = {"k": 1, "storage": server.url, "name": "shared", "progress": False}
        found.append(identify(ARMS, MEANS.__getitem__, parallel=4, **settings))

    found = []
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(result.top, result.certified) for result in found] == [(("a",), True)] * 2
    assert Study("shared", storage=server.path).result.certified


def test_a_study_file_runs_against_an_address(server, tmp_path):
    arms = "".join(f'[[arms]]\nname = "{x}"\nmean = "{x}"\n' for x in ("0.1", "0.9"))
    text = f'storage = "{server.url}"\n[study]\nname = "file"\nk = 1\n[pull]\n'
    (tmp_path / "study.toml").write_text(text + 'command = ["echo", "{mean}"]\n' + arms)
    said = json.loads(good("run", tmp_path / "study.toml", "--json"))
    assert (said["top"], said["certified"]) == (["0.9"], True)
    assert Study("file", storage=server.path).samples == said["samples"]


def test_a_client_outlives_a_server_that_is_killed(tmp_path):
    path = tmp_path / "studies.db"
    with serving(path) as first:
        study = bestk.connect(f"http://127.0.0.1:{first.port}").study("kept", ARMS, k=1)
        (pull,) = study.ask()
        first.process.kill()
        first.process.wait()
    done = threading.Thread(target=study.tell, args=(pull, 1.0))
    done.start()  # repeats until somebody answers
    with serving(path, port=first.port):
        done.join(30)
        assert not done.is_alive()
        study.tell(pull, 1.0)
        assert study.samples == 1


@pytest.fixture
def shorter(monkeypatch):
    """A minute takes so many seconds, and all else as much less."""

    def shorten(minute):
        for name in ("PATIENCE", "NEW", "QUIET"):
            monkeypatch.setattr(connection, name, getattr(connection, name) * minute / 60)

    return shorten


@pytest.mark.parametrize("place", ["127.0.0.1:{port}", "nowhere.invalid:{port}"])
def test_an_address_where_nobody_ever_answered_is_soon_given_up(place, shorter, caplog):
    shorter(12.0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"nothing answers at .* is `bestk serve` running there"):
        bestk.connect("http://" + place.format(port=port)).studies()
    assert time.monotonic() - began < 6.0  # a twelfth of twelve seconds, and what a name may take
    (said,) = caplog.messages
    assert "nothing answers" in said


def test_a_server_that_was_there_is_waited_for_longer(tmp_path, shorter, caplog):
    shorter(3.0)
    with serving(tmp_path / "gone.db") as gone:
        there = Connection(f"http://127.0.0.1:{gone.port}", patience=connection.PATIENCE)
        there.get("health")
        assert caplog.messages == []
    for _ in range(2):  # but it is said once
        began = time.monotonic()
        with pytest.raises(StorageError, match="does not answer"):
            there.get("health")
        assert time.monotonic() - began > 2.5
    (said,) = caplog.messages
    assert "does not answer" in said


def test_nobody_there_is_said_after_a_while(tmp_path):
    with serving(tmp_path / "gone.db") as gone:
        pass
    with pytest.raises(StorageError, match="nothing answers"):
        Connection(f"http://127.0.0.1:{gone.port}", patience=0.2).get("health")


def test_a_token_is_needed_and_never_shown(tmp_path, monkeypatch):
    path = tmp_path / "studies.db"
    token = json.loads(good("token", "create", "--role", "admin", "--json", path))["token"]
    with serving(path) as found:
        url = f"http://127.0.0.1:{found.port}"
        for none in (None, "bestk_wrong"):
            with pytest.raises(InputError, match="no valid token: set BESTK_TOKEN or give connect"):
                bestk.connect(url, none).studies()
        assert bestk.connect(url, token).studies() == []
        monkeypatch.setenv("BESTK_TOKEN", token)
        assert bestk.connect(url).studies() == []
        assert token not in repr(Connection(url))


def test_a_worker_is_told_that_an_admin_begins_studies(tmp_path, monkeypatch):
    path = tmp_path / "studies.db"
    made = {
        (role, study): json.loads(good("token", "create", "--role", role, *study, "--json", path))[
            "token"
        ]
        for role, study in (("admin", ()), ("work", ()), ("work", ("--study", "other")))
    }
    with serving(path) as found:
        url = f"http://127.0.0.1:{found.port}"

        def work(token):
            monkeypatch.setenv("BESTK_TOKEN", token)
            settings = {"k": 1, "storage": url, "name": "mine", "progress": False}
            return identify(ARMS, MEANS.__getitem__, **settings)

        with pytest.raises(InputError, match=r"study 'mine' does not exist yet.*admin token"):
            work(made["work", ()])
        bestk.connect(url, made["admin", ()]).study("mine", ARMS, k=1)
        with pytest.raises(InputError, match="a token for view of 'mine' is needed"):
            work(made["work", ("--study", "other")])
        assert work(made["work", ()]).top == ("a",)


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://x:port", "http://me:secret@x"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InputError) as refused:
        bestk.connect(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "token", "is_said"),
    [("http://far.example:8765", "secret", True), ("http://192.0.2.1", "secret", True),
     ("http://far.example", "", False), ("https://far.example", "secret", False),
     ("http://localhost:1", "secret", False), ("http://[::1]:1", "secret", False)],
)  # fmt: skip
def test_a_token_that_others_can_read_on_its_way_is_warned_of(url, token, is_said):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bestk.connect(url, token)
    said = [str(warning.message) for warning in caught]
    assert len(said) == is_said
    assert all("https" in text and "secret" not in text for text in said)


def test_what_json_cannot_hold_beside_a_reward_loses_no_reward(server, tmp_path):
    study = bestk.connect(server.url).study("beside", ARMS, k=1)
    kept = Study("beside", ARMS, k=1, storage=tmp_path / "kept.db")
    for each in ({"loss": float("nan")}, {"at": Path("x")}, {1}, {"said": "é"}, None):
        (pull,), (own,) = study.ask(), kept.ask()
        study.tell(pull, 0.5, each)
        kept.tell(own, 0.5, each)
    found, own = (
        [one.extra for one in observations(open_storage(path), "beside")]
        for path in (server.path, tmp_path / "kept.db")
    )
    assert found == own
    assert found[0] == "{'loss': nan}"


def test_arms_that_join_and_leave_are_seen(server):
    study = bestk.connect(server.url).study("changing", ARMS, k=1, max_arms=5)
    study.add_arm("d")
    study.add_arm("d")
    assert study.arms == (*ARMS, "d")
    study.withdraw_arm("a")
    assert study.arms == (("b", 2), "c", "d")


def test_an_answer_that_never_comes_is_asked_for_again(monkeypatch):
    """A connection that nobody closes, whose other end is gone; a minute is a second here."""
    monkeypatch.setattr(connection, "TIMEOUT", connection.TIMEOUT / 60)
    heard = []

    def answer():
        with listening.accept()[0] as first:
            heard.append(whole(first))
            with listening.accept()[0] as second:  # while the first is open and silent
                heard.append(whole(second))
                second.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    def whole(line):
        text = b""
        while not text.endswith(b"}"):  # head and body may come apart
            text += line.recv(65536)
        return text

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert Connection(url, patience=connection.PATIENCE / 60).post("tell", pull="1") == {}
        thread.join(10)
    assert heard[0] == heard[1]
