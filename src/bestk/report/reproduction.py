"""The files of a reproduction: its figures, claims.json and report.html."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from bestk.output import write_text
from bestk.paper.added import Added
from bestk.paper.reproduce import Reproduction
from bestk.paper.verdicts import Claim
from bestk.report.figures import best_k, cpe
from bestk.report.page.style import document


def write(found: Reproduction, folder: Path) -> list[Path]:
    """Draw the figures and write the verdicts; where they are."""
    verdicts, report = folder / "claims.json", folder / "report.html"
    figures = best_k.save(found.rows, folder)
    if found.cpe_rows:
        figures += cpe.save(found.cpe_rows, folder)
    write_text(verdicts, json.dumps([claim.to_dict() for claim in found.claims], indent=1) + "\n")
    written = [*figures, verdicts, report]
    if found.added:
        written.append(folder / "added.json")
        text = json.dumps([each.to_dict() for each in found.added], indent=1)
        write_text(written[-1], text + "\n")
    pictures = [path for path in figures if path.suffix == ".png"]
    write_text(report, page(pictures, found.claims, found.command, found.added))
    return written


def _row(claim: Claim) -> str:
    verdict = '<td class="yes">holds</td>' if claim.holds else '<td class="no">does not hold</td>'
    return (
        f"<tr><td>{escape(claim.id)}</td>"
        f'<td>{escape(claim.claim)}<div class="detail">{escape(claim.detail)}</div></td>'
        f'<td class="n">{claim.statistic:.3g}<br>[{claim.ci[0]:.3g}, {claim.ci[1]:.3g}]</td>'
        f"{verdict}</tr>"
    )


def _added(policy: Added) -> str:
    rows = "".join(
        f'<tr><td>{escape(row.panel)}</td><td class="n">{row.arms}</td>'
        f'<td class="n">{row.mean:,.0f} ± {row.sem:,.0f}</td><td class="n">{ratio}</td>'
        f'<td class="n">{row.wrong} of {row.runs}</td><td class="n">{row.unfinished}</td></tr>'
        for row, ratio in policy.points
    )
    return f"""<h3>{escape(policy.title)}</h3><p>{escape(policy.words)}</p>
<table><tr><th>panel</th><th>N</th><th>mean samples, std. error</th><th>of e-lucb's [95%]</th>
<th>wrong</th><th>cut off</th></tr>{rows}</table>"""


def page(
    figures: Sequence[Path], claims: Sequence[Claim], command: str, added: Sequence[Added] = ()
) -> str:
    """Figures (PNG files) and verdicts on one page that needs nothing else."""
    images = "\n".join(
        f'<p><img alt="{figure.stem}" src="data:image/png;base64,'
        f'{base64.b64encode(figure.read_bytes()).decode()}"></p>'
        for figure in figures
    )
    held = sum(claim.holds for claim in claims)
    body = f"""<h1>Best-K identification: the paper reproduced</h1>
<p>Jiang, Li and Qiao (2017), <em>Practical Algorithms for Best-K Identification in Multi-Armed
Bandits</em>, Section 5: Gaussian rewards of variance 1/4, error &nu; = 0.01. Made by
<code>{escape(command)}</code>; every number is in <code>results.csv</code>.</p>
{images}
<h2>What the text claims, and what we find</h2>
<p>{held} of {len(claims)} statements hold. A statement holds only if every one of its simultaneous
95% intervals supports it; the statistic shown is the most extreme one.</p>
<table><tr><th></th><th>claim</th><th>statistic, interval</th><th>verdict</th></tr>
{"".join(map(_row, claims))}</table>"""
    if added:
        body += f"<h2>Policies added to the panels</h2>{''.join(map(_added, added))}"
    return document("Best-K: the paper reproduced", body)
