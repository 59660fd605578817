"""A frame as text for a terminal; it fits into 80 columns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memsift_ops.status import BreakerStatus
from memsift_ops.top.frame import RANKED, Frame, Row

HISTORY = 40
BARS = "▁▂▃▄▅▆▇█"
KEYS = "q or Ctrl-C ends"


class Screen:
    """Draws frames, with the history of throughput and depth."""

    def __init__(self) -> None:
        self._rates: deque[float] = deque(maxlen=HISTORY)
        self._depths: deque[float] = deque(maxlen=HISTORY)

    def draw(self, frame: Frame, *, keys: bool = False) -> RenderableType:
        """What to show.

        Args:
            frame: the last look.
            keys: whether to say how it ends.
        """
        self._rates.append(frame.rate)
        self._depths.append(float(frame.status.queue.depth))
        head = Table.grid(padding=(0, 2), expand=False)
        head.add_column(style="bold", no_wrap=True)
        head.add_column(overflow="fold")
        for name, said in self._lines(frame):
            head.add_row(name, said)
        at = datetime.fromtimestamp(frame.at).astimezone().strftime("%H:%M:%S")
        title = Text.assemble(
            ("memsift top", "bold"), f"  {frame.status.queue.name}  {at}", f"   {KEYS}" if keys else ""
        )
        return Group(title, head, Text(), _workers(frame.rows))

    def _lines(self, frame: Frame) -> Iterable[tuple[str, RenderableType]]:
        status = frame.status
        for trouble in status.troubles:
            yield "trouble", Text(trouble, style="bold red")
        yield "queue", _queue(frame, spark(self._depths))
        yield "breaker", _breaker(status.breaker)
        ranking = sum(row.ranking or 0 for row in frame.rows)
        yield "jobs", Text(f"{frame.rate:,.0f}/s, {ranking} being ranked   {spark(self._rates)}")
        yield "latency", _latency(frame.slowest)
        yield "causes", _causes(frame)


def spark(values: Sequence[float] | deque[float]) -> str:
    """The values as bars between 0 and their highest."""
    most = max(values, default=0.0)
    if most <= 0:
        return BARS[0] * len(values)
    return "".join(BARS[min(int(value / most * len(BARS)), len(BARS) - 1)] for value in values)


def _breaker(breaker: BreakerStatus) -> Text:
    since = "" if breaker.since_s is None else f" for {breaker.since_s:.0f} s"
    why = f" by {breaker.reason}" if breaker.reason else ""
    said = f"{breaker.state}{why}{since}, {breaker.failures} failures in a row, opened {breaker.opened} times"
    return Text(said, style="" if breaker.state == "closed" else "bold red")


def _queue(frame: Frame, drawn: str) -> Text:
    queue = frame.status.queue
    oldest = "" if queue.oldest_s is None else f", the oldest for {queue.oldest_s:.2f} s"
    waiting = sum(queue.own.values())
    own = f", {waiting} of them for one runtime" if waiting and len(queue.own) > 1 else ""
    return Text(f"{queue.depth} jobs wait{own}{oldest}   {drawn}")


def _latency(slowest: Row | None) -> Text:
    if slowest is None:
        return Text("no answers in the last seconds", style="dim")
    told = ", ".join(f"{name} {value:,.0f}" for name, value in slowest.latency_ms.items())
    return Text(f"{told} ms from sending to reply (slowest worker)")


def _causes(frame: Frame) -> Text:
    """What became of jobs, the most frequent first: a second, or since workers' start at the first look."""
    found: dict[str, float] = dict(frame.causes) if frame.changes is None else dict(frame.changes)
    ordered = sorted(found.items(), key=lambda one: (one[0] != RANKED, -one[1]))
    unit = "since start" if frame.changes is None else "a second"
    told = [
        f"{cause} {count:,.0f}" if count >= 1 else f"{cause} {count:.1f}" for cause, count in ordered if count
    ]
    return Text(f"{', '.join(told)} ({unit})" if told else f"none ({unit})")


def _workers(rows: Sequence[Row]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold dim")
    table.add_column("worker", no_wrap=True, overflow="ellipsis", max_width=22)
    table.add_column("state", no_wrap=True)
    for name in ("jobs/s", "of", "ranks", "fill", "p50", "p99 ms", "cached", "lost"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.name,
            Text(row.state, style="bold yellow" if row.state == "paused" else ""),
            _shown(row.rate),
            _shown(row.capacity),
            f"{_shown(row.ranking)}/{_shown(row.limit)}",
            _share(row.fill),
            _shown(row.latency_ms.get("p50")),
            _shown(row.latency_ms.get("p99")),
            _share(row.cached),
            _share(row.lost),
        )
    return table


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
