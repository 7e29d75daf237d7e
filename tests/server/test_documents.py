"""Reports and exports of many at once leave threads for others, and long ones are not in memory."""

import asyncio
import threading

import pytest

from bestk import Bernoulli, Study

REASON = "fastapi is not installed: pip install 'bestk[serve]'"
pytest.importorskip("fastapi", reason=REASON)


def test_slow_reports_take_one_thread_and_leave_the_others():
    from bestk.server.hall import Hall
    from bestk.server.limits import Limits
    from bestk.storage import MemoryStorage

    hall, going, most = Hall("", MemoryStorage(), Limits(), True), [], []
    begun, go_on = threading.Event(), threading.Event()

    def slowly():
        going.append(threading.get_ident())
        most.append(len(going))
        begun.set()
        assert go_on.wait(60)
        going.pop()

    async def many():
        reports = [asyncio.create_task(hall.writers.make(slowly)) for _ in range(100)]
        assert await asyncio.to_thread(begun.wait, 60)
        await asyncio.wait_for(asyncio.to_thread(int), 60)  # somebody opens a study
        left = sum(not report.done() for report in reports)
        go_on.set()
        await asyncio.gather(*reports)
        return left

    assert asyncio.run(many()) == 100
    assert max(most) == 1


def test_an_export_is_sent_in_pieces_and_its_file_is_closed(tmp_path, monkeypatch):
    from bestk.report.export import write_observations
    from bestk.server import documents
    from bestk.study.reading import open_storage

    monkeypatch.setattr(documents, "PIECE", 100)
    path = tmp_path / "s.db"
    study = Study("s", ["\u00e4", "b"], k=1, rewards=Bernoulli(), storage=path)
    for pull in study.ask(20):
        study.tell(pull, 1.0)
    file = documents.export(str(path), "s", "csv")

    async def sent():
        return [piece async for piece in documents.pieces(file)]

    found = asyncio.run(sent())
    assert file.closed
    assert max(map(len, found)) == 100
    with (tmp_path / "whole").open("w+", newline="", encoding="utf-8") as whole:
        write_observations(open_storage(path), "s", "csv", whole)
        whole.seek(0)
        assert "".join(found) == whole.read()


def test_one_token_keeps_no_more_than_a_few_documents_waiting():
    from bestk.server.documents import WANTED, Writers
    from bestk.server.guard import Refusal

    go_on = threading.Event()

    async def many():
        writers = Writers()
        mine = [asyncio.create_task(writers.make(go_on.wait, 60, who="a")) for _ in range(WANTED)]
        await asyncio.sleep(0)  # all of them have begun
        with pytest.raises(Refusal) as refused:
            await writers.make(int, who="a")
        others = [asyncio.create_task(writers.make(int, who=who)) for who in ("b", None)]
        go_on.set()
        await asyncio.gather(*mine, *others)
        return refused.value.status, await writers.make(int, who="a")

    assert asyncio.run(many()) == (429, 0)


def test_who_only_looks_does_not_make_the_server_work_all_the_time(monkeypatch):
    from bestk.server.desk import Desk
    from bestk.server.streams import Watch
    from bestk.storage import MemoryStorage
    from bestk.study.shared import Request, SharedStudy, Worker

    now, made, storage = [1000.0], [], MemoryStorage()
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    Study("s", ["a", "b"], k=1, storage=storage)
    study = SharedStudy("s", storage=storage, patience=60.0, most=100)

    def slowly():
        made.append(now[0])
        now[0] += 1.0
        return f"{study.n_open} open"

    async def recalled(_):
        return []

    async def looks():
        watch = Watch(Desk(study, lambda: study), recalled)
        said = []

        def look(is_fresh):
            said.append(watch.text("status", slowly, is_fresh))

        look(False)
        look(True)
        study.hand_out(Request(Worker("", "w"), "1"))
        look(False)
        look(True)
        now[0] += 25.0  # it took a second: to make it again then costs less than a twentieth
        look(False)
        return said

    assert asyncio.run(looks()) == ["0 open", "0 open", "0 open", "1 open", "1 open"]
    assert len(made) == 3
