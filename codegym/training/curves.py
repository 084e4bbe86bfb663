"""Curves of a training's metrics: PNG, and one HTML page that needs nothing else."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codegym.errors import UnavailableError
from codegym.store import replacing

#: What is drawn, where it was measured: the name, and what it says.
SHOWN: Mapping[str, str] = {
    "loss": "Loss",
    "reward": "Mean reward of an episode",
    "solved": "Share of episodes solved",
    "tampered": "Share of episodes that tampered",
    "lessons": "Hinted turns learned from",
    "feedback_loss": "Divergence from the hinted teacher",
    "groups_without_signal": "Groups rewarded all alike",
    "gradient_norm": "Norm of the gradient",
    "sampler_kl": "Sampler against trainer (KL, nats a token)",
    "tokens": "Tokens sampled or shown",
    "turns": "Turns of an episode",
    "faults": "Episodes lost to faults",
}
_WIDTH, _HEIGHT, _MARGIN = 420, 180, 34
_SMOOTH = 0.9


def smoothed(values: Sequence[float]) -> list[float]:
    """A moving average that begins at the first value."""
    found: list[float] = []
    for value in values:
        found.append(value if not found else _SMOOTH * found[-1] + (1 - _SMOOTH) * value)
    return found


def curves(lines: Sequence[Mapping[str, float]]) -> dict[str, tuple[list[float], list[float]]]:
    """Steps and values of each of ``SHOWN`` that was measured, and of a curriculum's own."""
    extra = {name for line in lines for name in line if name.startswith("curriculum/")}
    found = {}
    for name in (*SHOWN, *sorted(extra)):
        points = [(line["step"], line[name]) for line in lines if name in line]
        if points:
            found[name] = ([step for step, _ in points], [value for _, value in points])
    return found


def draw_png(lines: Sequence[Mapping[str, float]], title: str, file: Path) -> None:
    """Draw all curves into a PNG.

    Raises:
        UnavailableError: ``matplotlib`` is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UnavailableError(
            "a PNG needs matplotlib",
            "Install it: pip install 'codegym[plot]'; the HTML needs nothing",
        ) from error
    drawn = curves(lines)
    rows = (len(drawn) + 1) // 2
    figure: Any = Figure(figsize=(10, 2.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    for number, (name, (steps, values)) in enumerate(drawn.items(), 1):
        axes = figure.add_subplot(rows, 2, number, title=SHOWN.get(name, name), xlabel="step")
        axes.plot(steps, values, alpha=0.3, color="C0")
        axes.plot(steps, smoothed(values), color="C0")
        axes.grid(alpha=0.3)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=100)
    with replacing(file) as draft:
        draft.write(data.getvalue())


def write_html(lines: Sequence[Mapping[str, float]], title: str, file: Path) -> None:
    """Write a page with all curves as SVG: no script, nothing fetched."""
    drawn = curves(lines)
    body = "\n".join(
        f"<figure><figcaption>{html.escape(SHOWN.get(name, name))}</figcaption>"
        f"{_svg(steps, values)}</figure>"
        for name, (steps, values) in drawn.items()
    )
    page = _PAGE.format(title=html.escape(title), body=body)
    with replacing(file) as draft:
        draft.write(page.encode())


def _svg(steps: Sequence[float], values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    span, length = (high - low) or 1.0, (steps[-1] - steps[0]) or 1.0

    def path(points: Sequence[float]) -> str:
        places = (
            f"{_MARGIN + (step - steps[0]) / length * (_WIDTH - 2 * _MARGIN):.1f},"
            f"{_HEIGHT - _MARGIN - (value - low) / span * (_HEIGHT - 2 * _MARGIN):.1f}"
            for step, value in zip(steps, points, strict=True)
        )
        return " ".join(places)

    bottom = _HEIGHT - _MARGIN
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f'<path d="M{_MARGIN} {_MARGIN}V{bottom}H{_WIDTH - _MARGIN}"/>'
        f'<polyline class="raw" points="{path(values)}"/>'
        f'<polyline points="{path(smoothed(values))}"/>'
        f'<text x="{_MARGIN}" y="{_MARGIN - 8}">{high:.4g}</text>'
        f'<text x="{_MARGIN}" y="{_HEIGHT - 10}">{low:.4g}; step {steps[0]:.0f}</text>'
        f'<text x="{_WIDTH - _MARGIN}" y="{_HEIGHT - 10}" text-anchor="end">{steps[-1]:.0f}</text>'
        "</svg>"
    )


_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color: #222; background: #fff; }}
main {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1rem; }}
figure {{ margin: 0; }} figcaption {{ font-weight: 600; }} svg {{ width: 100%; }}
path {{ stroke: #999; fill: none; }} polyline {{ stroke: #1f6fb2; stroke-width: 2; fill: none; }}
.raw {{ opacity: .3; }} text {{ font-size: 11px; fill: #555; }}
@media (prefers-color-scheme: dark) {{ body {{ color: #ddd; background: #181818; }}
text {{ fill: #aaa; }} polyline {{ stroke: #69b3f0; }} }}
</style></head><body><h1>{title}</h1><main>
{body}
</main></body></html>
"""
