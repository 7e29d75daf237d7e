"""Reading cells of exported CSV files, as docs/studies.md says how to."""

import json

from bestk.decisions.labels import freeze
from bestk.report.cells import TEXT, _is_json


def read_text_cell(cell):
    """What `text_cell` was given."""
    return str(json.loads(cell)) if cell.startswith('"') else cell.removeprefix(TEXT)


def read_label_cell(cell):
    """The label that `label_cell` was given; tuples as tuples."""
    if not cell.startswith(TEXT) and _is_json(cell):
        return freeze(json.loads(cell))
    return cell.removeprefix(TEXT)
