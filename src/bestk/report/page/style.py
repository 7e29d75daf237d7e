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

# of a study's page: one column on a phone
STYLE = """
:root { --in: #0a5fb4; --out: #8a949f; --undecided: #c05a00; --warn: #fff4e5; --rival: #1f9e8f; }
@media (prefers-color-scheme: dark) { :root { --in: #6cb2ff; --out: #7d8894; --undecided: #ffa64d;
  --warn: #33261a; --rival: #3fc3b3; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1rem 3rem; }
h1 { margin: 0; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.3rem; } h3 { font-size: 1rem; }
header p { margin: .3rem 0; } ol, ul, dl, figure { margin: 0; padding: 0; }
.soft, dt { color: var(--soft); }
.name { overflow-wrap: anywhere; }
.badge { display: inline-block; font-size: .95rem; padding: .1rem .7rem; border-radius: 1rem;
  border: 2px solid currentColor; vertical-align: middle; }
ol.answer { padding-left: 2.2rem; font-size: 1.1rem; } ol.answer li { margin: .4rem 0; }
ol.answer b, ol.answer b + span { font-size: .95rem; font-variant-numeric: tabular-nums; }
.certificate, .warning { background: var(--panel); border-left: 4px solid var(--yes);
  padding: .1rem 1rem; margin: 1.2rem 0; border-radius: 4px; }
.certificate ul { margin: 0 0 1rem; padding-left: 1.2rem; }
.warning { background: var(--warn); } .warning, .certificate.no { border-color: var(--no); }
.certificate.yes, .certificate.no { color: inherit; font-weight: inherit; }
dl.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1rem; }
dl.figures div { display: flex; flex-direction: column-reverse; }
dl.figures dd { margin: 0; font-size: 1.5rem; font-variant-numeric: tabular-nums; }
dl.figures dt { font-size: .9rem; }
dl.pairs { display: grid; grid-template-columns: minmax(9rem, 16rem) minmax(0, 1fr);
  gap: .35rem 1rem; }
dl.pairs dd { margin: 0; overflow-wrap: anywhere; }
.in { --own: var(--in); } .rival { --own: var(--rival); }
.undecided { --own: var(--undecided); } .out { --own: var(--out); }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 50%;
  background: var(--own); }
.entry { white-space: nowrap; }
ol.arms { list-style: none; }
ol.arms li { display: grid; align-items: center; column-gap: .8rem; padding: .2rem 0;
  grid-template: "rank name plot numbers pulls" auto
    / 2.4rem minmax(0, 5fr) minmax(0, 8fr) 11.5rem 6rem; }
ol.arms .rank { grid-area: rank; text-align: right; color: var(--soft); }
ol.arms .name { grid-area: name; line-height: 1.3; font-size: .95rem; }
ol.arms .name, .finalists figcaption { display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 3; overflow: hidden; }
ol.arms .plot { grid-area: plot; } ol.arms .numbers { grid-area: numbers; font-size: .9rem; }
ol.arms .pulls { grid-area: pulls; font-size: .85rem; color: var(--soft); }
ol.arms .pulls i { display: block; height: 4px; background: var(--out); }
.rank, .numbers, .pulls { font-variant-numeric: tabular-nums; }
ol.arms li.gap { display: block; text-align: center; color: var(--soft); font-size: .85rem;
  border-top: 1px dashed var(--soft); margin: .5rem 0 .2rem; }
ol.arms li.end { color: var(--in); border-color: var(--in); }
svg.strip { display: block; width: 100%; overflow: visible; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); text-anchor: middle; }
svg text.y { text-anchor: end; }
svg line { stroke: var(--line); stroke-width: 1; }
.bar { fill: var(--own); opacity: .55; } .chart .bar { opacity: .9; }
.dot { fill: var(--own); stroke: var(--paper); stroke-width: 1.5; }
.charts { display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); }
.charts.two { grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 26rem)); }
figcaption { font-size: .9rem; line-height: 1.35; min-height: 2.4rem; overflow-wrap: anywhere; }
figcaption b { font-weight: 600; color: var(--own); } figcaption b.out { color: var(--soft); }
figcaption b.undecided { color: color-mix(in srgb, var(--own) 80%, var(--ink)); }
svg.chart { display: block; width: 100%; height: auto; overflow: visible; }
.band { fill: var(--own); opacity: .3; }
.path { fill: none; stroke: var(--own); stroke-width: 2; }
.edge { fill: none; stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; }
.area { fill: var(--own); opacity: .75; }
.scroll { overflow-x: auto; } .scroll .name { min-width: 14rem; }
.scroll td, .scroll th { padding: .25rem .6rem; font-size: .9rem; }
summary { cursor: pointer; font-size: 1.3rem; font-weight: 600; margin-top: 2.5rem; }
@media (max-width: 48rem) {
  ol.arms li { grid-template: "rank name name" auto "plot plot plot" auto
    "numbers numbers pulls" auto / 1.6rem minmax(0, 1fr) 6rem; padding: .45rem 0;
    border-bottom: 1px solid var(--line); column-gap: .5rem; }
  ol.arms li.axis, ol.arms li.gap { border-bottom: 0; }
  dl.pairs { display: block; } dl.pairs dd { margin-bottom: .6rem; }
  figcaption { min-height: 0; }
}
@media print { details > * { display: block; } }
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
