"""Plots as SVG, written by hand: they need nothing installed, and show in any browser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

_WIDTH: Final = 640
_LEFT: Final = 150
_INK: Final = "#37474f"
_COLOURS: Final = ("#00796b", "#f57c00", "#5c6bc0", "#c2185b")
_FONT: Final = "font-family='system-ui,sans-serif' font-size='12'"

#: A value with the ends of its interval, and what it is of.
Interval = tuple[str, float, float, float]


def page(title: str, plots: Iterable[str]) -> str:
    """A page of plots."""
    body = "\n".join(f"<figure>{plot}</figure>" for plot in plots)
    return (
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>\n"
        f"<body style='font-family:system-ui,sans-serif'><h1>{escape(title)}</h1>\n"
        f"{body}\n</html>\n"
    )


def intervals(title: str, groups: Sequence[tuple[str, Sequence[Interval]]], mark: float) -> str:
    """Values with their intervals, in named groups; a line at ``mark``."""
    top = max([high for _, rows in groups for *_, high in rows] + [mark]) * 1.05
    span = _WIDTH - _LEFT - 20

    def x(value: float) -> float:
        return _LEFT + span * value / top

    parts, y = [], 34
    for number, (name, rows) in enumerate(groups):
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(_text(8, y + 4, name, bold=True))
        y += 20
        for label, value, low, high in rows:
            parts += [
                _text(20, y + 4, label),
                _line(x(low), y, x(high), y, colour),
                f"<circle cx='{x(value):.1f}' cy='{y}' r='4' fill='{colour}'/>",
                _text(x(high) + 6, y + 4, f"{value:.2f}"),
            ]
            y += 18
        y += 8
    parts.insert(0, _line(x(mark), 26, x(mark), y, "#b0bec5"))
    return _svg(title, y + 8, parts)


def histogram(title: str, values: Sequence[float], bins: int = 20) -> str:
    """How many of the values, from 0 to 1, lie in each bin."""
    counts = [0] * bins
    for value in values:
        counts[min(int(value * bins), bins - 1)] += 1
    most, span = max([*counts, 1]), _WIDTH - 80
    parts = [
        f"<rect x='{50 + span * place / bins:.1f}' y='{230 - 190 * count / most:.1f}' "
        f"width='{span / bins - 1:.1f}' height='{190 * count / most:.1f}' fill='{_COLOURS[0]}'/>"
        for place, count in enumerate(counts)
    ]
    return _svg(title, 260, [*parts, *_axes(span), _text(8, 44, str(most))])


def curve(title: str, points: Sequence[tuple[float, float]], *, diagonal: bool = False) -> str:
    """Points with both values from 0 to 1, joined; a diagonal where both are to be equal."""
    span = _WIDTH - 80
    places = [(50 + span * x, 230 - 190 * y) for x, y in points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f"<polyline points='{joined}' fill='none' stroke='{_COLOURS[0]}' stroke-width='2'/>"]
    if diagonal:
        parts.append(_line(50, 230, 50 + span, 40, "#b0bec5"))
        parts += [
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{_COLOURS[0]}'/>" for x, y in places
        ]
    return _svg(title, 260, [*parts, *_axes(span), _text(20, 44, "1")])


def _axes(span: int) -> list[str]:
    ends = [_text(46, 248, "0"), _text(46 + span, 248, "1")]
    return [_line(50, 230, 50 + span, 230, _INK), _line(50, 230, 50, 40, _INK), *ends]


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height:.0f}' "
        f"width='{_WIDTH}' {_FONT} fill='{_INK}' role='img' "
        f"aria-label='{escape(title, quote=True)}'>"
    )
    ground = f"<rect width='{_WIDTH}' height='{height:.0f}' fill='white'/>"
    return "\n".join([head, ground, _text(8, 18, title, bold=True), *parts, "</svg>"])


def _text(x: float, y: float, text: str, *, bold: bool = False) -> str:
    weight = " font-weight='bold'" if bold else ""
    return f"<text x='{x:.1f}' y='{y:.1f}'{weight}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    ends = f"x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'"
    return f"<line {ends} stroke='{colour}' stroke-width='2'/>"
