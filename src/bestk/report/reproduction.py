"""The files of a reproduction: its figures, claims.json and report.html."""

from __future__ import annotations

import json
from pathlib import Path

from bestk.output import write_text
from bestk.paper.reproduce import Reproduction
from bestk.report.figures import best_k, cpe
from bestk.report.page import claims as page


def write(found: Reproduction, folder: Path) -> list[Path]:
    """Draw the figures and write the verdicts; where they are."""
    verdicts, report = folder / "claims.json", folder / "report.html"
    figures = best_k.save(found.rows, folder)
    if found.cpe_rows:
        figures += cpe.save(found.cpe_rows, folder)
    text = json.dumps([claim.to_dict() for claim in found.claims], indent=1) + "\n"
    write_text(verdicts, text)
    pictures = [path for path in figures if path.suffix == ".png"]
    page.write(report, pictures, found.claims, found.command)
    return [*figures, verdicts, report]
