"""The built package: what is in it, and that it works where the source tree is not."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import bestk

ROOT = Path(__file__).parents[1]
IDENTIFY = """
import bestk

chances = {"often": 0.9, "sometimes": 0.3}
draws = iter(range(10**6))
result = bestk.identify(
    chances, lambda arm: next(draws) * 0.618 % 1.0 < chances[arm], k=1, rewards=bestk.Bernoulli()
)
print(bestk.__file__, result.top, result.certified)
"""


def run(*command, **more):
    """What a command prints; it must not fail."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel made from it as `python -m build` does: without the source tree."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The programs of an environment with the wheel and its dependencies, made without network."""
    home = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", home / "venv")
    programs = home / "venv" / "bin"
    run(programs / "pip", "install", "--quiet", "--no-deps", "--no-index", built[1])
    # numpy and the others are those of the tests; a .pth file there, such as the one that points
    # to the source tree, is not read from here
    site = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(site.strip(), "dependencies.pth").write_text("\n".join(paths))
    return programs


def call(installed, folder, program, *arguments):
    """Run one of its programs outside of the source tree, kernels that others compiled unseen."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    env["BESTK_CACHE_DIR"] = str(installed.parents[1] / "cache")
    return run(installed / program, *arguments, cwd=folder, env=env)


def test_the_wheel_is_pure_and_holds_the_typed_package_alone(built):
    wheel = built[1]
    assert wheel.name == f"bestk-{bestk.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"bestk/__init__.py", "bestk/py.typed"} < names
    information = f"bestk-{bestk.__version__}.dist-info"
    assert {Path(name).parts[0] for name in names} == {"bestk", information}
    sources = {str(path.relative_to(ROOT / "src")) for path in ROOT.glob("src/bestk/**/*.py")}
    assert {name for name in names if name.endswith(".py")} == sources


def test_the_sdist_holds_what_building_testing_and_documenting_need(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "src/bestk/py.typed",
        "tests/test_package.py", "docs/conf.py", "docs/index.md", "examples/captions.py",
    }  # fmt: skip
    assert needed - names == set()
    kept = [name for name in names if "tests/data/v0" not in name]
    assert not any(".db" in name or "__pycache__" in name for name in kept)


def test_the_installed_package_identifies(installed, tmp_path):
    said = call(installed, tmp_path, "python", "-c", IDENTIFY)
    where, answer = said.split(maxsplit=1)
    assert Path(where).is_relative_to(installed.parent)
    assert answer == "('often',) True\n"


def test_the_installed_command_races_and_tells_its_version(installed, tmp_path):
    assert call(installed, tmp_path, "bestk", "--version") == f"bestk {bestk.__version__}\n"
    said = call(installed, tmp_path, "bestk", "race", "sleep 0.001", "sleep 0.1")
    assert "certified: error <= 0.05" in said


def test_the_installed_command_simulates(installed, tmp_path):
    said = call(
        installed, tmp_path, "bestk", "simulate", "--means", "0.9,0.1", "--k", "1", "--runs", "2",
        "--json",
    )  # fmt: skip
    found = json.loads(said)
    assert (found["guarantee"], found["wrong"], found["unfinished"]) == (0.01, 0, 0)
