"""`bestk reproduce`: what it writes, resumes and refuses."""

import csv
import json
import os
import time

import pytest

from bestk.paper import cpe, reproduce
from bestk.paper.cpe import Structure
from helpers.command import bestk, good, interrupt, start
from helpers.python_policies import Lucb, registered

QUICK = ["reproduce", "--quick", "--panels", "fig1b,fig2b", "--runs", "2"]
FEW = (4, 8)  # arms: small enough for interpreted kernels
STRUCTURES = tuple(
    Structure(decision, text, (1.6, 0.8, 0.4))
    for decision, text in (
        ("spanning-tree", "grid:2x2"), ("matching", "bipartite:2x2"), ("path", "layered:1x2")
    )
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def small():
    """The experiments on instances of a few arms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "QUICK_ARMS", FEW)
        patch.setattr(cpe, "STRUCTURES", STRUCTURES)
        yield


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduction") / "new" / "folder"
    good(*QUICK, "--out", str(out))
    return out


def test_reproduce_writes_everything_the_contract_names(reproduced):
    names = {path.name for path in reproduced.iterdir()}
    figures = {f"figure{n}.{kind}" for n in (1, 2) for kind in ("png", "svg")}
    assert names == {"results.csv", "claims.json", "report.html"} | figures
    with open(reproduced / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert ",".join(rows[0]) == (
        "panel,instance,alpha,arms,k,policy,variant,mean,sem,runs,wrong,unfinished,seed"
    )
    assert len(rows) == 2 * 6 + 2 * 7  # two N; six policies, and lil-ucb in Figure 2
    assert {row["panel"] for row in rows} == {"fig1b", "fig2b"}
    for claim in json.loads((reproduced / "claims.json").read_text()):
        assert list(claim) == ["id", "claim", "statistic", "ci", "holds", "detail"]
        assert claim["ci"][0] <= claim["statistic"] <= claim["ci"][1]
        assert isinstance(claim["holds"], bool)
    page = (reproduced / "report.html").read_text()
    assert page.count("data:image/png") == 2
    assert "http" not in page.replace("http-equiv", "")  # needs nothing from the network


def test_an_interrupted_reproduction_resumes_where_it_stopped(reproduced):
    path = reproduced / "results.csv"
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:10]))  # as if killed after 9 rows
    good(*QUICK, "--out", str(reproduced))
    assert path.read_text() == whole


def test_a_half_written_row_is_refused_and_nothing_is_lost(reproduced):
    path = reproduced / "results.csv"
    whole = path.read_text()
    try:
        for cut in (whole[:-30], whole[:-1], whole.replace("fig1b,1-sparse", "fig1b", 1)):
            path.write_text(cut)
            done = bestk(*QUICK, "--out", str(reproduced))
            assert done.returncode == 2
            assert "half-written or damaged" in done.stderr
            assert path.read_text() == cut
    finally:
        path.write_text(whole)


def test_results_of_other_settings_are_not_mixed_in(reproduced):
    done = bestk(*QUICK[:-1], "3", "--out", str(reproduced))
    assert done.returncode == 2
    assert "choose another --out" in done.stderr


def test_a_file_that_is_something_else_is_left_alone(tmp_path):
    (tmp_path / "results.csv").write_text("my,own,data\n1,2,3\n")
    done = bestk(*QUICK, "--out", str(tmp_path))
    assert done.returncode == 2
    assert (tmp_path / "results.csv").read_text() == "my,own,data\n1,2,3\n"


def test_an_output_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    done = bestk(*QUICK, "--out", str(tmp_path / "file" / "out"))
    assert done.returncode == 2
    assert "cannot make the folder" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    done = bestk(*QUICK, "--out", str(tmp_path))
    assert done.returncode == 2
    assert "cannot write" in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [(["--panels", "fig1z"], "unknown panel"), (["--runs", "1"], "at least 2")],
)
def test_reproduce_refuses_what_it_cannot_do(tmp_path, args, message):
    done = bestk("reproduce", "--out", str(tmp_path / "out"), *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_combinatorial_panel_is_drawn(tmp_path):
    good("reproduce", "--quick", "--panels", "cpe", "--runs", "2", "--out", str(tmp_path))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"results.csv", "claims.json", "report.html", "cpe.png", "cpe.svg"}
    with open(tmp_path / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 3 * 4  # structures, gaps, policies
    assert {row["k"] for row in rows} == {""}
    before = (tmp_path / "results.csv").read_text()
    good("reproduce", "--quick", "--panels", "cpe", "--runs", "2", "--out", str(tmp_path))
    assert (tmp_path / "results.csv").read_text() == before


def test_output_files_that_cannot_be_written_are_bad_input(tmp_path):
    (tmp_path / "claims.json").mkdir()
    done = bestk("reproduce", "--quick", "--panels", "fig1a", "--runs", "2", "--out", str(tmp_path))
    assert done.returncode == 2
    assert "claims.json was refused: it is a folder" in done.stderr


def test_an_interrupted_reproduction_says_how_to_go_on(tmp_path):
    results = tmp_path / "results.csv"
    few = ["--panels", "fig2a", "--runs", "2"]  # quick at first, but not to the end
    with start("reproduce", *few, "--out", str(tmp_path)) as process:
        while not results.exists() or len(results.read_text().splitlines()) < 3:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        assert "run it again to resume" in interrupt(process)
    whole = results.read_text()
    assert whole.endswith("\n")
    assert len(whole.splitlines()) >= 3


def test_policies_are_added_to_the_panels_with_their_authors_claims(tmp_path):
    options = ("reproduce", "--quick", "--panels", "fig1a,fig2a", "--runs", "2")
    with registered():
        text = " ".join(good(*options, "--out", tmp_path, "--policy", "own-lucb").split())
        again = good(*options, "--out", tmp_path, "--policy", "own-lucb", "--policy", "lil-ucb")
    assert "own-lucb, added; its author claims: error <= delta" in text
    assert "lil'UCB, added" in " ".join(again.split())
    own, lil_ucb = json.loads((tmp_path / "added.json").read_text())
    assert (own["policy"], own["proved"], own["claim"]) == ("own-lucb", False, Lucb.guarantee)
    assert [(point["panel"], point["arms"]) for point in own["points"]] == [
        (panel, n) for panel in ("fig1a", "fig2a") for n in FEW
    ]
    assert {point["panel"] for point in lil_ucb["points"]} == {"fig2a"}  # which has K = 1
    with open(tmp_path / "results.csv", newline="") as file:
        rows = {(r["panel"], r["arms"], r["policy"]): r for r in csv.DictReader(file)}
    for point in own["points"]:  # the same rewards, and LUCB's own decisions
        mine, theirs = (
            rows[point["panel"], str(point["arms"]), name] for name in ("own-lucb", "lucb")
        )
        assert mine["mean"] == theirs["mean"] == str(point["mean"])
    page = (tmp_path / "report.html").read_text()
    assert "its author claims: error &lt;= delta" in page
    assert "own-lucb" in (tmp_path / "figure1.svg").read_text()
    claims = json.loads((tmp_path / "claims.json").read_text())
    alone = tmp_path / "alone"
    good(*options, "--out", alone)
    assert claims == json.loads((alone / "claims.json").read_text())
    assert not (alone / "added.json").exists()


def test_a_policy_that_fits_no_panel_is_refused_before_the_work(tmp_path):
    out = tmp_path / "out"
    for policy, why in (("sar", "fixed budget"), ("lil-ucb", "one arm"), ("lucc", "did you mean")):
        done = bestk("reproduce", "--panels", "fig1a", "--policy", policy, "--out", out)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    assert not out.exists()
