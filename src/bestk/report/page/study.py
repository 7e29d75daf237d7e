"""`bestk report`: a study on one page, from its answer to the hash of its log.

The same log gives the same page. Whatever comes from the user (names, labels, parameters) is
escaped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from bestk.output import check_output, write_text
from bestk.report import words
from bestk.report.page.sections import View, effort, escaped, finalists, intervals, shrinking
from bestk.report.page.style import STYLE, document
from bestk.report.text import moment
from bestk.storage.addresses import Address, file_at
from bestk.study.notebook import ALL, order
from bestk.study.reading import choose, open_storage
from bestk.study.study import Study
from bestk.study.trajectory import Trajectory, replay

ROWS = 2000  # of the table of all arms
NO_NAME = re.compile(r"[^\w.-]+")  # what is left out of a file's name


def write(
    path: Address, target: str | os.PathLike[str] | None = None, name: str | None = None
) -> Path:
    """Write the page of a study, by default next to its file; returns where it is.

    The page of a study in a database is called after the study, in the current folder.
    """
    file = file_at(path)
    if target is None and file is not None:
        target = file.parent / f"{file.stem}.html"
    if target is not None:
        check_output(Path(target), file)  # before the work
    storage = open_storage(path)
    study = Study(choose(storage, name), storage=storage)
    target = Path(f"{NO_NAME.sub('_', study.name)}.html" if target is None else target)
    result = study.result
    arms = order(result)
    close = finalists(study, result, arms)
    trajectory = replay(study.specification, storage.read(study.name), close, frozenset(result.top))
    view = View(study, result, arms, trajectory)
    drawn = intervals(view) + effort(view) + shrinking(view)
    where = str(storage.path) if file is None else file.name
    facts = _losses(view) + _settings(view) + _log(view, where) + _table(view)
    body = f"<main>{_answer(view)}{drawn}{facts}</main>"
    write_text(target, document(f"{study.name}: {view.headline}", body, STYLE))
    return target


def _answer(view: View) -> str:
    result = view.result
    items = "".join(
        f'<li><span class="name">{escaped(label)}</span><br>'
        f"<b>{view.number(view.by_label[label].mean, '–')}</b>"
        f' <span class="soft">({view.interval(view.by_label[label])})</span></li>'
        for label in result.top[:ALL]
    )
    if view.answered > ALL:
        items += f"<li>and {view.answered - ALL:,} more, in the table below</li>"
    verdict = ("yes", "certified") if result.certified else ("no", "not certified")
    said, *more = words.certificate(view.specification, result)
    proof = _listed("p", more)
    if result.certified:
        slack = escape(result.slack(view.study.problem.epsilon))
        proof += (
            f"<p>Error probability at most {result.error_bound:g}, slack {slack}."
            f" Proof: {escape(result.theorem or '')}.</p>"
        )
    if result.certified or result.certifiable_epsilon is not None:
        assumed = _listed("li", words.assumptions(view.specification))
        proof += f"<p>This takes for granted:</p><ul>{assumed}</ul>"
    proof += _listed("p", result.remarks)
    figures = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd></div>"
        for name, value in (
            ("pulls", f"{result.samples:,}"),
            ("arms", f"{len(view.arms):,}"),
            *_of_items(view),
            ("failed attempts", f"{sum(arm.failed for arm in view.arms):,}"),
            ("pulls given up", f"{sum(view.trajectory.given_up.values()):,}"),
            ("from first to last event", _span(view.trajectory)),
            *((escape(name), text) for name, text in words.sums(result)),
        )
    )
    so_far = "" if result.stopped == "rule" else " so far"
    answer = f'<ol class="answer">{items}</ol>' if items else "<p>There is no answer yet.</p>"
    return (
        f"<header><p class=soft>bestk study</p><h1>{escape(view.study.name)}"
        f' <span class="badge {verdict[0]}">{verdict[1]}</span></h1>'
        f"<p>Wanted: {escape(view.headline)}.</p></header>"
        f'<section><h2>The answer{so_far}</h2>{answer}<div class="certificate {verdict[0]}">'
        f"<p><strong>{escape(said)}</strong></p>{proof}</div>"
        f'<dl class="figures">{figures}</dl></section>'
    )


def _of_items(view: View) -> list[tuple[str, str]]:
    """Of an evaluation, how many items there are and how much of the table is known."""
    items = view.specification.items
    if items is None:
        return []
    share = view.result.samples / (len(view.arms) * items.count)
    return [("items", f"{items.count:,}"), ("of the table scored", f"{100 * share:.1f}%")]


def _losses(view: View) -> str:
    title, lost, lapsed = "What was lost", view.trajectory.given_up, view.trajectory.expired
    failed, given_up = sum(arm.failed for arm in view.arms), sum(lost.values())
    if not failed and not given_up:
        nothing = "Nothing: no attempt failed, and no pull was given up."
        return f"<section><h2>{title}</h2><p>{nothing}</p></section>"
    lease = f", {lapsed:,} of them because the lease ran out" if lapsed else ""
    arms = sum(1 for arm in view.arms if arm.failed or lost.get(arm.label, 0))
    meaning = words.WORST if view.specification.lost == "worst" else words.LOSS
    if view.specification.items is not None:
        meaning = words.FAILED
    return (
        f'<section><h2>{title}</h2><div class="warning"><p>{words.many(failed, "attempt")}'
        f" failed, {words.many(given_up, 'pull')} given up{lease}; it happened to"
        f" {words.many(arms, 'arm')} (the table at the end has the numbers).</p>"
        f"<p>{meaning}</p></div></section>"
    )


def _settings(view: View) -> str:
    problem, specification = view.study.problem, view.specification
    params = ", ".join(f"{key}={value}" for key, value in problem.params.items())
    rows: list[tuple[str, Any]] = [
        ("wanted", view.headline),
        ("error probability (delta)", f"{problem.delta:g}"),
        ("slack (epsilon)", view.result.slack(problem.epsilon)),
        *([("unit of rewards", view.result.unit)] if view.result.unit else []),
        ("rewards", problem.rewards.description),
        ("policy", words.policy(specification)),
        ("its parameters", params or "as they come"),
        ("seed", specification.seed),
    ]
    if (items := specification.items) is not None:
        rows.append(("items", f"{items.count:,}, with the fingerprint {items.digest}"))
        known = "none" if items.history is None else f"{max(items.history.counts):,} at most"
        rows.append(("scores of other arms on an item", known))
    if specification.lease is not None:
        rows.append(("lease of a pull", f"{specification.lease:g} seconds"))
    if specification.max_arms is not None:
        rows.append(("arms", f"may come and go, {specification.max_arms:,} at most"))
    return f"<section><h2>Problem and settings</h2>{_pairs(rows)}</section>"


def _log(view: View, file: str) -> str:
    known = view.trajectory
    rows = [
        ("file", file),
        ("events", f"{known.events:,}"),
        ("begun", f"{moment(known.began):%Y-%m-%d %H:%M:%S} UTC"),
        ("last event", f"{moment(known.ended):%Y-%m-%d %H:%M:%S} UTC"),
        ("pulls still open", f"{len(view.study.open):,}"),
        (f"SHA-256 of the first {known.hashed:,} events", known.sha256),
    ]
    return (
        f"<section><h2>The log</h2>{_pairs(rows)}<p class=soft>Everything on this page follows"
        " from the log. <code>bestk certify</code> writes the same hash into a certificate, and"
        " <code>bestk verify</code> computes the certificate again.</p></section>"
    )


def _table(view: View) -> str:
    lost = view.trajectory.given_up
    rows = "".join(
        f"<tr><td class=n>{place}</td><td class=name>{escaped(arm.label)}</td>"
        f"<td class=n>{view.number(arm.mean, '–')}</td><td class=n>{view.interval(arm)}</td>"
        f"<td class=n>{arm.pulls:,}</td><td class=n>{arm.failed:,}</td>"
        f"<td class=n>{lost.get(arm.label, 0):,}</td><td>{arm.status}</td></tr>"
        for place, arm in enumerate(view.arms[:ROWS], 1)
    )
    compares = view.result.compares
    columns = ("rank", "arm", compares, "interval", "pulls", "failed", "given up", "status")
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    rest = len(view.arms) - ROWS
    more = f"<p>{rest:,} more: <code>bestk export</code> has them all.</p>" if rest > 0 else ""
    return (
        f"<section><details><summary>All arms in numbers</summary>"
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}'
        f"</tbody></table></div>{more}</details></section>"
    )


def _listed(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)


def _pairs(rows: Iterable[tuple[str, Any]]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in rows)
    return f'<dl class="pairs">{items}</dl>'


def _span(trajectory: Trajectory) -> str:
    """How long it took, in the two largest units."""
    seconds = round(trajectory.ended - trajectory.began)
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    for (size, unit), (part, smaller) in pairwise(units):
        if seconds >= size:
            return f"{seconds // size} {unit} {seconds % size // part} {smaller}"
    return f"{seconds} s" if seconds else "under a second"
