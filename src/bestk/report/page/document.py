"""One HTML page that needs nothing else: no network, no script, light or dark as the reader's."""

from __future__ import annotations

from html import escape

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2127; --soft: #5a6470; --line: #d9dee3;
  --panel: #f5f7f9; --yes: #00684a; --no: #a33a06; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e8ebee; --soft: #a3adb8;
  --line: #353d46; --panel: #1d2329; --yes: #5fd3a6; --no: #ff9d66; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
h1, h2 { line-height: 1.25; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .5rem; text-align: left;
  vertical-align: top; }
td.n { white-space: nowrap; font-variant-numeric: tabular-nums; }
.yes { color: var(--yes); font-weight: 600; } .no { color: var(--no); font-weight: 600; }
.detail { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
"""


def document(title: str, body: str, style: str = "") -> str:
    """The whole page; `title` is a text, `body` is HTML."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body>
{body}
</body></html>
"""
