"""The style sheet of the report: light and dark as the reader's system has it, phone and desktop."""

from __future__ import annotations

LIGHT = """--page: #f7f7f5; --card: #fff; --ink: #1d1f23; --soft: #5b5f67;
  --line: #dfe0e3; --track: #eeeff1; --budget: #2f855a2e; --good: #1c7a4a; --bad: #b3372f;
  --c0: #6a6f78; --c1: #2364c8; --c2: #b1520a; --c3: #1a7a5b; --c4: #a8378a; --c5: #6a4fd0; --c6: #7a650d;
  --c7: #b3261e; --c8: #0b7285; --c9: #4d7c0f;"""
DARK = """--page: #131417; --card: #1c1e22; --ink: #e8e9ec; --soft: #a6aab2;
  --line: #34373d; --track: #2f3238; --budget: #4fc38a38; --good: #5ccf95; --bad: #f08a80;
  --c0: #9aa0aa; --c1: #74a7f7; --c2: #f0a05a; --c3: #55c9a0; --c4: #e58acb; --c5: #ab98f8; --c6: #d0b94e;
  --c7: #ff8a80; --c8: #66d3e8; --c9: #a3d65c;"""

STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
@media print {{ :root {{ color-scheme: light; {LIGHT} }} }}
"""
STYLE += """
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 1.15rem; margin: 36px 0 4px; }
p { margin: 0 0 12px; color: var(--soft); max-width: 75ch; overflow-wrap: anywhere; }
.conclusion { color: var(--ink); font-size: 1.1rem; margin-bottom: 16px; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(342px, 100%), 1fr)); gap: 14px;
  align-items: start; }
.card { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px; min-width: 0; max-width: 470px; }
figcaption { font-weight: 600; margin: 0 0 8px; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  margin-bottom: 14px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: .8125rem; padding: 8px 10px 0; }
th, td { padding: 6px 10px; text-align: right; white-space: nowrap; vertical-align: baseline;
  font-weight: 400; }
thead th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line);
  vertical-align: bottom; }
th:first-child { position: sticky; left: 0; background: var(--card); text-align: left; }
.text { text-align: left; }
tr.set th { font-weight: 600; border-top: 1px solid var(--line); padding-top: 10px; }
.short td.text { white-space: normal; } .scroll:has(.short) { max-width: 900px; }
.phone { display: none; }
tr.prefilter { color: var(--soft); }
.up { color: var(--good); } .down { color: var(--bad); }
.ci { display: block; color: var(--soft); font-size: .75rem; }
.whole { white-space: nowrap; }
.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 7px;
  background: var(--c); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
svg { display: block; width: 100%; height: auto; font-size: 12px; }
svg text { fill: var(--ink); paint-order: stroke; stroke: var(--card); stroke-width: 3px; }
svg .tick, svg .note { fill: var(--soft); font-size: 11px; }
svg .head { font-weight: 600; } svg .value { font-variant-numeric: tabular-nums; font-size: 11.5px; }
svg .name { font-weight: 600; }
.grid { stroke: var(--line); stroke-width: 1; } .zero { stroke: var(--soft); stroke-dasharray: 3 3; }
.budget { fill: var(--budget); } .track { fill: var(--track); }
.whisker { stroke: var(--c); stroke-width: 2; } .leader { stroke: var(--c); opacity: .5; }
.curve { fill: none; stroke: var(--c); stroke-width: 1.5; } .density { fill: var(--c); opacity: .35; }
.interval { stroke: var(--ink); stroke-width: 1.2; }
.dot { fill: var(--c); stroke: var(--card); stroke-width: 1.5; } .bar { fill: var(--c); opacity: .8; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px;
  margin-bottom: 10px; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
details ul { list-style: none; margin: 8px 0 0; padding: 0; }
details li { border-top: 1px solid var(--line); padding: 8px 0; overflow-wrap: anywhere; font-size: .875rem; }
code { font: .92em ui-monospace, Menlo, Consolas, monospace; }
.loss { color: var(--bad); font-weight: 600; }
dl { display: grid; grid-template-columns: 5.5em 1fr; gap: 2px 8px; color: var(--soft); margin: 4px 0 0; }
dt { grid-column: 1; } dd { grid-column: 2; margin: 0; }
.reason { margin: 4px 0 0; font-style: italic; }
.quote { color: var(--ink); display: block; }
footer { margin-top: 36px; color: var(--soft); font-size: .8125rem; overflow-wrap: anywhere; }
@media (max-width: 600px) { main { padding: 16px 12px 32px; }
  .short { font-size: .8125rem; } .short :is(th, td) { padding-inline: 4px; }
  .short :is(th, td) { white-space: normal; }
  .short th:first-child { padding-left: 8px; } .short .swatch { margin-right: 4px; }
  .desktop { display: none; } .phone { display: block; font-size: .75rem; color: var(--soft); } }
@media print { main { max-width: none; padding: 0; } .scroll { overflow: visible; }
  table { font-size: 8pt; } .ci { font-size: 7pt; }
  th, td { padding: 3px 4px; } .card, tr, li { break-inside: avoid; } h2, h2 + p { break-after: avoid; }
  .cards { grid-template-columns: 1fr 1fr; } details::details-content { content-visibility: visible; } }
"""

COLOURS = 10


def colour_classes() -> str:
    """`.c0` and so on; more rankers than colours begin anew, after the grey of the prefilter."""
    return "\n".join(f".c{at} {{ --c: var(--c{colour(at)}); }}" for at in range(32))


def colour(at: int) -> int:
    """The colour of the ranker at this place."""
    return at if at < COLOURS else 1 + (at - 1) % (COLOURS - 1)
