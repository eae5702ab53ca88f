"""The token bar: who is talking, how full the context window is, and when it will be compacted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from prompt_toolkit.utils import get_cwidth

Fragment = tuple[str, str]
"""A style's name (one of `STYLES`, or "") and the text that has it."""

STYLES: Final = ("name", "dim", "calm", "near", "full")
"""The bar's styles; the last three are the zones of the gauge."""

_NEAR = 0.75
"""Share of the threshold from which the gauge warns."""
_GAUGE_CELLS = 16
_SHORT_GAUGE_CELLS = 8
_NAME_CELLS = 8
_THOUSAND, _MILLION = 1000, 1_000_000


@dataclass(frozen=True)
class Gauge:
    """What the bar shows.

    Attributes:
        agent: the agent's name.
        model: the model's name.
        used: tokens of the next request, as far as is known.
        limit: the context length in tokens, or None when nobody knows.
        threshold: share of the limit at which compaction fires.
        estimated: whether `used` is partly an estimate.
        compression: whether compaction fires at all.
        activity: what goes on now, such as `compacting, part 3 of 7`; it takes the figures' place.
        done: share of the activity that is done, or None when unknown.
    """

    agent: str
    model: str = ""
    used: int = 0
    limit: int | None = None
    threshold: float = 0.9
    estimated: bool = True
    compression: bool = True
    activity: str = ""
    done: float | None = None


def short(tokens: int) -> str:
    """Return a number of tokens as people say it: 870, 9.1k, 91k, 1.2M."""
    if tokens < _THOUSAND:
        return str(tokens)
    if tokens < 10 * _THOUSAND:
        return f"{tokens / _THOUSAND:.1f}k".replace(".0k", "k")
    if round(tokens / _THOUSAND) < _THOUSAND:
        return f"{tokens / _THOUSAND:.0f}k"
    return f"{tokens / _MILLION:.1f}M".replace(".0M", "M")


def bar(gauge: Gauge, width: int, *, unicode: bool = True) -> list[Fragment]:
    """Return the bar as styled text of at most `width` cells; the less room, the fewer parts it has."""
    dot = " · " if unicode else " - "
    for parts in _arrangements(gauge, unicode=unicode):
        fragments = _joined(parts, dot)
        if cells(fragments) <= width:
            return fragments
    return _cut(fragments, width, "…" if unicode else "")


def cells(fragments: list[Fragment]) -> int:
    """Return how many cells the text takes."""
    return sum(get_cwidth(text) for _, text in fragments)


def _arrangements(gauge: Gauge, *, unicode: bool) -> list[list[list[Fragment]]]:
    """Return the bar's parts from the fullest arrangement to the barest."""
    ellipsis = "…" if unicode else "."
    name: list[Fragment] = [("name", gauge.agent)]
    brief: list[Fragment] = _cut(name, _NAME_CELLS, ellipsis)
    model: list[list[Fragment]] = [[("dim", gauge.model)]] if gauge.model else []
    if gauge.activity:
        progress, small = _progress(gauge, _GAUGE_CELLS, unicode), _progress(gauge, 0, unicode)
        return [[name, *model, progress], [name, progress], [brief, progress], [brief, small], [small]]
    about = "~" if gauge.estimated else ""
    used = f"{about}{short(gauge.used)}"
    if gauge.limit is None:
        tokens: list[Fragment] = [("calm", f"{used} tokens")]
        unknown: list[Fragment] = [("dim", "context length unknown")]
        return [[name, *model, tokens, unknown], [name, *model, tokens], [name, tokens], [brief, tokens]]
    zone = _zone(gauge)
    percent: Fragment = (zone, f"{about}{100 * gauge.used / gauge.limit:.0f}%")
    figures: list[Fragment] = [("", f"{used}/{short(gauge.limit)}")]
    when = f"compacts at {100 * gauge.threshold:.0f}%" if gauge.compression else "compaction off"
    long, small, tiny = (
        [*_gauge(gauge, size, unicode), ("", " "), percent] for size in (_GAUGE_CELLS, _SHORT_GAUGE_CELLS, 4)
    )
    note: list[list[Fragment]] = [[("dim", when)]]
    return [
        [name, *model, long, figures, *note],
        [name, *model, long, figures],
        [name, *model, small, figures],
        [name, small, figures],
        [brief, small, figures],
        [brief, small],
        [brief, tiny],
        [tiny],
        [[percent]],
    ]


def _zone(gauge: Gauge) -> str:
    share = gauge.used / gauge.limit if gauge.limit else 0.0
    if share >= gauge.threshold:
        return "full"
    return "near" if share >= _NEAR * gauge.threshold else "calm"


def _gauge(gauge: Gauge, size: int, unicode: bool) -> list[Fragment]:
    share = min(1.0, gauge.used / gauge.limit) if gauge.limit else 0.0
    mark = min(size, round(gauge.threshold * size)) if gauge.compression else None
    full, rest = filled(share, size, unicode)
    if mark is None:
        fragments: list[Fragment] = [(_zone(gauge), full), ("dim", rest)]
    else:
        line = "│" if unicode else "|"
        before, after = full[:mark], full[mark:]
        cut = max(0, mark - len(full))
        fragments = [(_zone(gauge), before)]
        if after:
            fragments += [("full", line), (_zone(gauge), after), ("dim", rest)]
        else:
            fragments += [("dim", rest[:cut]), ("near", line), ("dim", rest[cut:])]
    if not unicode:
        fragments = [("dim", "["), *fragments, ("dim", "]")]
    return [(style, text) for style, text in fragments if text]


def filled(share: float, size: int, unicode: bool) -> tuple[str, str]:
    """Return the filled part and the rest of a gauge without its mark."""
    if not unicode:
        full = round(share * size)
        return "#" * full, "-" * (size - full)
    eighths = round(share * size * 8)
    full = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return full, "░" * (size - len(full))


def _progress(gauge: Gauge, size: int, unicode: bool) -> list[Fragment]:
    text: Fragment = ("near", gauge.activity)
    if gauge.done is None or not size:
        return [text]
    full, rest = filled(min(1.0, max(0.0, gauge.done)), size, unicode)
    around = ("", "") if unicode else ("[", "]")
    return [("near", around[0] + full), ("dim", rest + around[1]), ("", " "), text]


def _joined(parts: list[list[Fragment]], dot: str) -> list[Fragment]:
    fragments: list[Fragment] = []
    for part in parts:
        if fragments:
            fragments.append(("dim", dot))
        fragments += part
    return fragments


def _cut(fragments: list[Fragment], width: int, ellipsis: str) -> list[Fragment]:
    if cells(fragments) <= width:
        return fragments
    left = width - get_cwidth(ellipsis)
    kept: list[Fragment] = []
    for style, text in fragments:
        for end in range(len(text), -1, -1):
            if get_cwidth(text[:end]) <= left:
                break
        kept.append((style, text[:end]))
        left -= get_cwidth(text[:end])
        if end < len(text):
            break
    return [*kept, ("dim", ellipsis)]
