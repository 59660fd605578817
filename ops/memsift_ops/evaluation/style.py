"""The style sheet of the report: light and dark as the reader's system has it, phone and desktop."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --page: #f7f7f5; --card: #fff; --ink: #1d1f23; --soft: #62666e;
  --line: #dfe0e3; --track: #eeeff1; --budget: #2f855a22; --good: #1c7a4a; --bad: #b3372f;
  --c0: #7a7f88; --c1: #2364c8; --c2: #c25e0c; --c3: #1c8160; --c4: #a8378a; --c5: #6a4fd0; --c6: #86700f; }
@media (prefers-color-scheme: dark) { :root { --page: #131417; --card: #1c1e22; --ink: #e8e9ec;
  --soft: #a0a4ac; --line: #34373d; --track: #2a2d32; --budget: #4fc38a26; --good: #5ccf95; --bad: #f08a80;
  --c0: #9aa0aa; --c1: #74a7f7; --c2: #f0a05a; --c3: #55c9a0; --c4: #e58acb; --c5: #ab98f8; --c6: #d0b94e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 1.15rem; margin: 36px 0 4px; }
h3 { font-size: .95rem; margin: 0 0 6px; overflow-wrap: anywhere; }
p { margin: 0 0 12px; color: var(--soft); max-width: 75ch; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(310px, 100%), 1fr)); gap: 14px;
  align-items: start; }
.cards > figure { max-width: 560px; }
.card { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px; min-width: 0; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 10px; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--card); text-align: left; }
.text { text-align: left; }
tr.set td { text-align: left; font-weight: 600; border-top: 1px solid var(--line); padding-top: 10px; }
tr.prefilter td { color: var(--soft); }
.up { color: var(--good); } .down { color: var(--bad); }
.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 7px; }
svg { display: block; width: 100%; height: auto; font-size: 11px; }
svg text { fill: var(--ink); } svg .tick, svg .note { fill: var(--soft); font-size: 10px; }
svg .head { font-weight: 600; } svg .value { font-variant-numeric: tabular-nums; font-size: 10px; }
.grid { stroke: var(--line); stroke-width: 1; } .zero { stroke: var(--soft); stroke-dasharray: 3 3; }
.budget { fill: var(--budget); } .track { fill: var(--track); }
.whisker { stroke: var(--c); stroke-width: 2; } .leader { stroke: var(--c); opacity: .35; }
.interval { stroke: var(--ink); stroke-width: 1.2; opacity: .7; }
.dot { fill: var(--c); stroke: var(--card); stroke-width: 1.5; } .bar { fill: var(--c); }
svg .name { fill: var(--c); font-weight: 600; font-size: 10.5px; } .swatch { background: var(--c); }
details { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px;
  margin-bottom: 10px; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
details ul { list-style: none; margin: 8px 0 0; padding: 0; }
details li { border-top: 1px solid var(--line); padding: 8px 0; overflow-wrap: anywhere; font-size: .875rem; }
code { font: .92em ui-monospace, Menlo, Consolas, monospace; }
.ids { display: grid; grid-template-columns: 5.5em 1fr; gap: 2px 8px; color: var(--soft); margin-top: 4px; }
.quote { color: var(--ink); display: block; }
@media (max-width: 600px) { main { padding: 16px 14px 32px; }
  table { font-size: .8rem; } th, td { padding: 6px; } }
footer { margin-top: 36px; color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
"""

COLOURS = 7


def colour_classes() -> str:
    """`.c0` and so on; more rankers than colours begin anew, after the grey of the prefilter."""
    return "\n".join(f".c{at} {{ --c: var(--c{colour(at)}); }}" for at in range(32))


def colour(at: int) -> int:
    """The colour of the ranker at this place."""
    return at if at < COLOURS else 1 + (at - 1) % (COLOURS - 1)
