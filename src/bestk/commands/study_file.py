"""study.toml, read into a checked value: what is looked for, how to pull, when to give up."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestk.arguments import shown
from bestk.client import is_server
from bestk.commands.items import ITEM, placeholders, read_items_file
from bestk.commands.pull import CommandPull
from bestk.commands.template import Template
from bestk.decisions import TopK
from bestk.errors import InputError, UnknownName
from bestk.output import is_database
from bestk.policies.budgets import spend
from bestk.problem import Problem
from bestk.rewards import make_rewards
from bestk.storage.addresses import Address, file_at, open_storage, read_address
from bestk.study.identification import open_or_connect
from bestk.study.items import TARGETS
from bestk.study.retries import per_second
from bestk.study.runner import BACKOFF, RETRIES, AnyStudy

Test = Callable[[Any], bool]
Check = tuple[str, Test]  # what a value must be, in words


def _is_argument(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_text(value: Any) -> bool:
    return _is_argument(value) and value != ""


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and abs(value) <= sys.float_info.max  # false for nan too


def _is_rate(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and per_second(value) is not None
    except InputError:
        return False


def _is_list(test: Test) -> Test:
    return lambda value: isinstance(value, list) and len(value) > 0 and all(map(test, value))


def _whole(least: int) -> Check:
    return f"a whole number, at least {least}", lambda value: type(value) is int and value >= least


def _one_of(*texts: str) -> Check:
    return " or ".join(f'"{text}"' for text in texts), lambda value: value in texts


TEXT: Check = ("a text", _is_text)
NUMBER: Check = ("a finite number", _is_number)
NOT_NEGATIVE: Check = ("a number of at least 0", lambda value: _is_number(value) and value >= 0)
RATE: Check = ('a number of calls per second, or a text such as "600/min"', _is_rate)
POSITIVE: Check = ("a positive number", lambda value: _is_number(value) and value > 0)
NUMBERS: Check = ("a list of numbers", _is_list(_is_number))
FLAG: Check = ("true or false", lambda value: isinstance(value, bool))
TABLE: Check = ("a table of parameters", lambda value: isinstance(value, dict))
COMMAND: Check = (
    "a text or a list of texts",
    lambda value: _is_text(value) or _is_list(_is_argument)(value),
)
KEYS: dict[str, dict[str, Check]] = {
    "study": {
        "name": TEXT, "k": _whole(1), "delta": NUMBER, "epsilon": NUMBER, "rewards": TEXT,
        "low": NUMBER, "high": NUMBER, "levels": NUMBERS, "sigma": NUMBER,
        "q": NUMBER, "relative": FLAG,
        "direction": _one_of("maximize", "minimize"), "policy": TEXT, "variant": TEXT,
        "params": TABLE, "seed": _whole(0), "lost": _one_of("skip", "worst"),
        "costs": TEXT,
    },
    "pull": {
        "command": COMMAND, "json_field": TEXT, "shell": FLAG, "timeout": POSITIVE,
        "retries": _whole(0), "backoff": NOT_NEGATIVE, "rate": RATE, "parallel": _whole(1),
        "on_fail": _one_of("stop", "low"), "extra": FLAG, "repeats": _whole(1),
    },
    "items": {"file": TEXT, "target": _one_of(*TARGETS)},
    "budget": {"pulls": _whole(1), "seconds": POSITIVE, "cost": POSITIVE},
    "storage": {"file": TEXT, "durability": _one_of("process", "full")},
}  # fmt: skip


@dataclass(frozen=True)
class StudyFile:
    """What a study.toml says, checked."""

    name: str
    arms: tuple[str, ...]
    k: int
    problem: Problem
    seed: int | None
    lost: str | None
    pull: CommandPull
    retries: int
    backoff: float
    rate: float | str | None
    on_fail: str
    parallel: int
    pulls: int | None  # the most, over all runs of the study; None if the policy spends them
    seconds: float | None  # the most, of one run
    cost: float | None  # the most, over all runs
    storage: Address
    durability: str
    items: tuple[Any, ...] | None = None  # of an evaluation
    target: str = "items"
    repeats: int = 1  # of every cell of an evaluation

    def open(self) -> AnyStudy:
        """The study, begun or resumed; refused if it was begun with other settings."""
        problem = self.problem
        storage: Any = self.storage
        if not is_server(storage):
            storage = open_storage(storage, durability=self.durability)
        on = {} if self.items is None else {"items": self.items, "target": self.target}
        study = open_or_connect(
            self.name, self.arms, storage, k=self.k, delta=problem.delta,
            epsilon=problem.epsilon, rewards=problem.rewards, maximize=problem.maximize,
            policy=problem.policy, variant=problem.variant, params=problem.params or None,
            seed=self.seed, lost=self.lost, costs=problem.costs, **on,
        )  # fmt: skip
        if study.problem.variant != problem.variant:
            raise InputError(
                f"variant={problem.variant} was refused: the study was begun with"
                f" {study.problem.variant}, and the guarantee holds for what was fixed before the"
                " data"
            )
        return study


def read_study_file(path: str | os.PathLike[str]) -> StudyFile:
    """Read a study.toml; every refusal names the file and the key."""
    path = Path(path)
    if path.is_file() and is_database(path):
        raise InputError(
            f"{path} was refused: it is a study's file, and what is run is the study.toml that"
            f" describes the study; `bestk status {shlex.quote(str(path))}` says where it stands"
        )
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path} was refused: there is no such file; `bestk init` writes one to start from"
        ) from None
    except RecursionError:
        raise InputError(f"{path} was refused: it is nested too deeply") from None
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, no TOML, too many digits
        raise InputError(f"{path} was refused: {error}") from error
    try:
        return _read(path, data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _read(path: Path, data: dict[str, Any]) -> StudyFile:
    for name in data:
        if name not in (*KEYS, "arms"):
            raise UnknownName("section", name, (*KEYS, "arms"))
    study, pull, items, budget, storage = (_section(data, name) for name in KEYS)
    for name, section, key in (("study", study, "k"), ("pull", pull, "command")):
        if key not in section:
            raise InputError(f"{key} is missing from [{name}]")
    for name, is_given in (("extra", pull.get("extra")), ("cost", "cost" in budget)):
        needed = "json_field" if name == "extra" else "extra"
        if is_given and not pull.get(needed) and not (name == "cost" and "costs" in study):
            raise InputError(f"{name} was refused: it comes from the JSON printed; give {needed}")
    template = Template(pull["command"], shell=pull.get("shell", False))
    values, folder = _arms(data.get("arms")), path.parent
    on = None
    if "items" in data:
        if "file" not in items:
            raise InputError("file is missing from [items]")
        on = read_items_file(folder / items["file"])
    for label, own in values.items():
        for item in (on or ({},))[:1]:
            template.fill(label, own if on is None else {**own, **placeholders(item)})
    if on is None and "repeats" in pull:
        raise InputError(
            "repeats of [pull] was refused: it says how often to score a cell of [items]"
        )
    if on is not None:
        _check_evaluation(template, values, on, study)
    target = items.get("target", "items")
    params, pulls = spend(study.get("policy"), study.get("params"), budget.get("pulls"))
    study = {**study, "params": params or {}}
    field, keeps = pull.get("json_field"), pull.get("extra", False)
    return StudyFile(
        name=study.get("name", path.stem),
        arms=tuple(values),
        k=study["k"],
        problem=_problem(study, data["arms"], None if target != "items" or on is None else len(on)),
        seed=study.get("seed"),
        lost=study.get("lost"),
        pull=CommandPull(template, values, folder, field, pull.get("timeout"), keeps),
        retries=pull.get("retries", RETRIES),
        backoff=pull.get("backoff", BACKOFF),
        rate=pull.get("rate"),
        on_fail=pull.get("on_fail", "stop" if on is None else "low"),
        parallel=pull.get("parallel", 1),
        pulls=pulls,
        seconds=budget.get("seconds"),
        cost=budget.get("cost"),
        storage=_place(folder, storage.get("file", f"{path.stem}.db")),
        durability=storage.get("durability", "process"),
        items=on,
        target=target,
        repeats=pull.get("repeats", 1),
    )


def _check_evaluation(
    template: Template, values: dict[str, dict[str, str]], items: tuple[Any, ...], study: Any
) -> None:
    """Refuse what would otherwise show at some item in the middle of the run."""
    if "lost" in study:
        raise InputError("lost of [study] was refused: on_fail decides about items that fail")
    for label, own in values.items():
        for key in own:
            if key == ITEM or key.startswith(f"{ITEM}."):
                raise InputError(f"{key} of arm {label!r} was refused: {{{key}}} is of the items")
    label, own = next(iter(values.items()))
    for number, item in enumerate(items, 1):
        try:
            template.fill(label, {**own, **placeholders(item)})
        except InputError as error:
            raise InputError(f"item {number}: {error}") from error


def _place(folder: Path, given: str) -> Address:
    """Where the study is kept: a file is meant from the folder of the study.toml."""
    if is_server(given):
        return given
    address = read_address(given)
    return address if file_at(address) is None else folder / address


def _section(data: dict[str, Any], name: str) -> dict[str, Any]:
    section = data.get(name, {})
    if name == "storage" and isinstance(section, str):
        section = {"file": section}  # storage = "..." is short for it
    if not isinstance(section, dict):
        raise InputError(f"{name} was refused: it must be a section, [{name}]")
    for key, value in section.items():
        if key not in KEYS[name]:
            raise UnknownName(f"key of [{name}]", key, KEYS[name])
        what, test = KEYS[name][key]
        if not test(value):
            raise InputError(f"{key} = {shown(value)} of [{name}] was refused: it must be {what}")
    return section


def _problem(study: dict[str, Any], entries: list[Any], n_items: int | None) -> Problem:
    costs = None
    if "costs" in study:
        costs = tuple(entry.get(study["costs"]) for entry in entries)
        for entry, cost in zip(entries, costs, strict=True):
            if not POSITIVE[1](cost):
                raise InputError(
                    f"{study['costs']} = {shown(cost)} of arm {entry['name']!r} was refused: it is"
                    " what a pull costs, a positive number"
                )
    ends = {key: study.get(key) for key in ("low", "high", "levels", "q", "relative")}
    return Problem(
        TopK(len(entries), study["k"]),
        make_rewards(study.get("rewards", "bounded"), study.get("sigma"), **ends),
        study.get("delta", 0.05), study.get("epsilon", 0.0),
        study.get("policy"), study.get("variant"), study["params"],
        study.get("direction", "maximize") == "maximize", n_items, costs,
    )  # fmt: skip


def _arms(entries: object) -> dict[str, dict[str, str]]:
    """Every arm's name and parameters, as texts."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("the arms are missing: write a section [[arms]] with a name for each")
    arms: dict[str, dict[str, str]] = {}
    for number, entry in enumerate(entries, 1):
        label = entry.get("name")
        if not _is_text(label):
            raise InputError(
                f"arm {number} was refused: its name must be a text, not {shown(label)}"
            )
        if label in arms:
            raise InputError(f"arm {label!r} was refused: it is listed twice")
        arms[label] = {key: _parameter(label, key, value) for key, value in entry.items()}
    return arms


def _parameter(label: str, key: str, value: object) -> str:
    if isinstance(value, int | float) or _is_argument(value):
        return str(value).lower() if isinstance(value, bool) else str(value)
    raise InputError(
        f"{key} = {shown(value)} of arm {label!r} was refused: a parameter is a text, a number,"
        " true or false"
    )
