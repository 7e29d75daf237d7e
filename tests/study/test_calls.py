"""Pulls of real life: endpoints that refuse, clients that are shared, loops that already run."""

import asyncio
import inspect
import json
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import bestk
from bestk.errors import ArmFailedError, InputError
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from bestk.study import Study
from bestk.study.calls import Calls
from bestk.study.pulls import Pull

WORTH = {"a": 0.1, "b": 0.9}
CLOSE = {"a": 0.45, "b": 0.55}
EASY = {"k": 1, "rewards": bestk.Bounded(), "seed": 1, "backoff": 0.0}


class Endpoint(ThreadingHTTPServer):
    """Answers with what an arm is worth; 429 beyond six calls at once."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.under_way, self.most = threading.Lock(), 0, 0
        self.answered = self.refused = 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        with server.lock:
            server.under_way += 1
            is_refused = server.under_way > 6
            server.refused, server.answered = (
                server.refused + is_refused, server.answered + (not is_refused)
            )  # fmt: skip
        threading.Event().wait(0.01)  # work
        with server.lock:
            server.under_way -= 1
        body = b"" if is_refused else json.dumps(CLOSE[self.path[1:]]).encode()
        self.send_response(429 if is_refused else 200)
        if is_refused:
            self.send_header("Retry-After", "0.01")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint():
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_endpoint_that_refuses_slows_the_run_down_and_does_not_end_it(endpoint):
    def pull(arm):
        try:
            with urllib.request.urlopen(endpoint.url + arm) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            error.close()
            raise

    result = bestk.identify("ab", pull, **EASY | {"backoff": 0.01}, parallel=24)
    assert (result.certified, result.top) == (True, ("b",))
    assert endpoint.refused > 0
    assert endpoint.refused < endpoint.answered  # at 24 at once most calls would be refused
    assert any("made again" in text for text in result.assumptions)


def test_retries_are_counted_for_every_pull():
    """Each pull fails twice; over its open pulls an arm fails many times in a row."""
    tried, lock = {}, threading.Lock()

    def pull(arm, pull):
        with lock:
            tried[pull.id] = tried.get(pull.id, 0) + 1
        if tried[pull.id] < 3:
            raise OSError("busy")
        return WORTH[arm]

    result = bestk.identify("ab", pull, **EASY, parallel=8, retries=2)
    assert result.certified
    assert set(tried.values()) == {3}
    tried.clear()
    with pytest.raises(ArmFailedError, match="failed 2 times in a row, the last time with OSError"):
        bestk.identify("ab", pull, **EASY, parallel=8, retries=1)


def test_a_pull_that_was_made_again_keeps_its_place_and_its_name(tmp_path):
    failed = []

    def pull(arm, pull):
        if pull.index == 2 and not failed:
            failed.append(pull)
            raise OSError("busy")
        return WORTH[arm]

    file = tmp_path / "s.db"
    result = bestk.identify("ab", pull, **EASY, storage=file)
    log = list(SQLiteStorage(file).read("identify"))
    (again,) = [event for event in log if event.kind == ev.RETRIED]
    assert (again.key, again.data) == (failed[0].id, "OSError: busy")
    told = [event.key for event in log if event.kind == ev.TOLD]
    assert told[2] == again.key
    assert sum(arm.failed for arm in result.arms) == 1
    assert result.samples == len(told)
    assert Study("identify", storage=file).result.assumptions == result.assumptions
    plain = bestk.identify("ab", WORTH.get, **EASY)
    assert [arm.pulls for arm in plain.arms] == [arm.pulls for arm in result.arms]


def test_where_losses_count_as_the_worst_no_pull_is_made_again(tmp_path):
    failed = []

    def pull(arm):
        if len(failed) < 2:
            failed.append(arm)
            raise OSError("busy")
        return WORTH[arm]

    file = tmp_path / "s.db"
    assert bestk.identify("ab", pull, **EASY, lost="worst", storage=file).certified
    kinds = [event.kind for event in SQLiteStorage(file).read("identify")]
    assert (kinds.count(ev.FAILED), kinds.count(ev.RETRIED)) == (2, 0)
    study = Study("s", "ab", k=1, lost="worst")
    (pulled,) = study.ask()
    with pytest.raises(InputError, match="worst"):
        study.retry(pulled)


def broken(arm):
    if arm == "c":
        raise OSError("no such model")
    return WORTH[arm]


def test_an_arm_that_keeps_failing_may_leave():
    result = bestk.identify("abc", broken, **EASY, max_arms=3, on_fail="withdraw", parallel=3)
    assert result.certified
    assert [arm.label for arm in result.arms] == ["a", "b"]


def test_an_arm_that_keeps_failing_may_count_as_the_lowest(tmp_path):
    settings = EASY | {"on_fail": "low", "retries": 1, "storage": tmp_path / "s.db"}
    result = bestk.identify("abc", broken, **settings)
    worst = result.arms[2]
    assert (result.top, worst.mean) == (("b",), 0.0)
    assert worst.failed == worst.pulls
    said = [text for text in result.assumptions if "counted as the worst reward" in text]
    assert said[0].startswith("1 pull" if worst.pulls == 1 else f"{worst.pulls} pulls")
    assert Study("identify", storage=tmp_path / "s.db").result.assumptions == result.assumptions
    costs = bestk.identify("abc", broken, **EASY, on_fail="low", retries=0, maximize=False)
    assert (costs.top, costs.arms[2].mean) == (("a",), 1.0)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"on_fail": "withdraw"}, "max_arms"),
        ({"on_fail": "low", "rewards": bestk.Gaussian()}, "no lowest"),
        ({"on_fail": "low", "lost": "worst"}, "worst"),
        ({"on_fail": "low!"}, "on_fail"),
        ({"rate": "fast"}, "rate"),
        ({"rate": 0}, "rate"),
        ({"backoff": -1}, "backoff"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_first_call(settings, why):
    with pytest.raises(InputError, match=why):
        bestk.identify("abc", broken, **EASY | settings)


def test_an_error_says_how_to_go_on(tmp_path):
    with pytest.raises(ArmFailedError, match=r"same storage='.*s\.db'"):
        bestk.identify("abc", broken, **EASY, storage=str(tmp_path / "s.db"))
    with pytest.raises(ArmFailedError, match="in memory alone"):
        bestk.identify("abc", broken, **EASY)


class Client:
    """As real ones: belongs to the loop of its first call, and to no other."""

    def __init__(self, together=1):
        self.loop, self.gate, self.under_way, self.most = None, None, 0, 0
        self.together = together  # calls that the first ones wait for

    async def ask(self, arm):
        if self.loop is None:
            self.loop, self.gate = asyncio.get_running_loop(), asyncio.Semaphore(2)
        assert asyncio.get_running_loop() is self.loop
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        while self.most < self.together:
            await asyncio.sleep(0)
        async with self.gate:
            await asyncio.sleep(0)
        self.under_way -= 1
        return WORTH[arm]


def test_coroutines_share_a_loop_and_so_may_share_a_client():
    client = Client(together=4)
    assert bestk.identify("ab", client.ask, **EASY, parallel=4).certified
    assert client.most == 4
    assert client.loop.is_closed()
    client = Client()

    def returns_a_coroutine(arm):
        return client.ask(arm)

    assert bestk.identify("ab", returns_a_coroutine, **EASY, parallel=4).certified


def test_a_coroutine_that_comes_after_the_end_of_a_run_is_closed():
    late = Client().ask("a")
    calls = Calls(lambda _arm: late)
    calls.close()
    with pytest.raises(RuntimeError, match="the run has ended"):
        calls.submit(Pull("p", "a", 0)).result(60)
    assert inspect.getcoroutinestate(late) == inspect.CORO_CLOSED


def test_a_loop_that_runs_in_the_calling_thread_is_in_nobodys_way():
    async def cell():  # as Jupyter runs one
        return bestk.identify("ab", Client().ask, **EASY)

    assert asyncio.run(cell()).certified


def test_awaited_runs_use_the_loop_of_the_caller_and_do_not_block_it():
    client, beats = Client(), []

    async def beat():
        while True:
            beats.append(asyncio.get_running_loop())
            await asyncio.sleep(0)

    async def main():
        other = asyncio.ensure_future(beat())
        result = await bestk.aidentify("ab", client.ask, **EASY, parallel=4)
        other.cancel()
        return result, asyncio.get_running_loop()

    result, loop = asyncio.run(main())
    assert result.certified
    assert client.loop is loop
    assert len(beats) > 10


def test_a_run_that_is_cancelled_ends_its_calls_and_can_be_resumed(tmp_path):
    file, ended = tmp_path / "s.db", []

    async def main():
        asked = asyncio.Event()

        async def hang(arm):
            if len(Study("identify", storage=file).open) < 3:
                return WORTH[arm]
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(arm)

        settings = EASY | {"storage": file, "parallel": 3}
        run = asyncio.ensure_future(bestk.aidentify("ab", hang, **settings))
        await asked.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.sleep(0)

    asyncio.run(main())
    assert ended
    assert bestk.identify("ab", WORTH.get, **EASY, storage=file).certified


def test_evaluations_are_awaited_too():
    async def main():
        async def score(arm, item, pull):
            assert pull.item == item
            return WORTH[arm], {"tokens": 3}

        return await bestk.aevaluate("ab", range(20), score, k=1, seed=1, repeats=2)

    result = asyncio.run(main())
    assert result.top == ("b",)
    assert result.totals == {"tokens": 6 * result.samples}
    assert result.cells[0].extra["tokens"] == 6


def test_an_exit_in_a_coroutine_is_a_failure_and_the_loop_goes_on():
    calls = []

    async def pull(arm):
        calls.append(arm)
        if len(calls) == 1:
            raise SystemExit(3)
        return WORTH[arm]

    assert bestk.identify("ab", pull, **EASY).certified


def test_on_an_executor_coroutines_run_as_they_always_did():
    async def pull(arm):
        return WORTH[arm]

    with ThreadPoolExecutor(2) as pool:
        assert bestk.identify("ab", pull, **EASY, executor=pool, parallel=2).certified
