"""The report as one static page: nothing is fetched, nothing runs in it."""

from __future__ import annotations

from html import escape
from string import Template

from codegym.redteam.arena import Report
from codegym.redteam.attack import FAMILIES, OUTCOMES

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>CodeGym red team: $title</title>
<style>
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem;
  border-bottom: 1px solid var(--line); }
th { position: sticky; top: 0; background: Canvas; }
td:first-child, td.outcome { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.evidence { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.source { opacity: .75; font-size: 13px; }
.impossible, .refused, .detected { color: #16803c; }
.succeeded, .bad { color: #c81e1e; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  .impossible, .refused, .detected { color: #5bd58a; } .succeeded, .bad { color: #ff8080; } }
</style>
<h1>$title</h1>
<p>$summary</p>
$totals
$faults
<h2>Attacks</h2>
<table><thead><tr><th>attack<th>class<th>what stopped it<th>mechanism and source<th>evidence
</thead><tbody>
$rows
</tbody></table>
<h2>Honest solutions graded during the run</h2>
<table><thead><tr><th>task<th>score<th>said of it</thead><tbody>
$controls
</tbody></table>
</html>
""")


def render(report: Report, source: str) -> str:
    """Write the page.

    Args:
        report: What is known.
        source: What was attacked, in words.
    """
    got, total = len(report.succeeded), len(report.verdicts)
    verb = "attack got" if got == 1 else "attacks got"
    title = f"{got} of {total} {verb} through" if total else "no attack was played to its end"
    return _PAGE.substitute(
        title=title,
        summary=escape(_summary(report, source)),
        totals=_totals(report),
        faults=_faults(report),
        rows="\n".join(_rows(report)),
        controls="\n".join(
            f'<tr><td>{escape(each.task_id)}<td class="{"" if each.score == 1 else "bad"}">'
            f'{"none" if each.score is None else f"{each.score:g}"}<td class="evidence">'
            f"{escape(each.text)}"
            for each in report.controls
        ),
    )


def _summary(report: Report, source: str) -> str:
    whole = "" if report.complete else " It was stopped before its end."
    return (
        f"{source}: {len(report.results)} of {report.planned} attempts in {report.seconds:.0f} s; "
        f"{len(report.controls)} honest solutions graded, {len(report.false_positives)} of them "
        f"wrongly below 1.{whole}"
    )


def _totals(report: Report) -> str:
    head = "".join(f"<th>{name}" for name in OUTCOMES)
    lines = []
    for family in FAMILIES:
        found = [each.outcome for each in report.verdicts if each.attack.family == family]
        cells = "".join(f'<td class="number">{found.count(name)}' for name in OUTCOMES)
        lines.append(f'<tr><td>{family}<td class="number">{len(found)}{cells}')
    return f"<table><thead><tr><th>class<th>attacks{head}</thead><tbody>{''.join(lines)}</table>"


def _faults(report: Report) -> str:
    lines = [
        f'<tr><td class="bad">{escape(each.attack.name)}<td>{escape(each.task_id)}'
        f'<td class="evidence">{escape(each.problem)}'
        for each in report.faults
    ]
    if not lines:
        return ""
    head = "<h2>Not played to an end: nothing is known of these</h2><table><thead><tr><th>attack"
    return f"{head}<th>task<th>problem</thead><tbody>{''.join(lines)}</table>"


def _rows(report: Report) -> list[str]:
    worst_first = sorted(report.verdicts, key=lambda each: each.outcome != "succeeded")
    return [
        f"<tr><td>{escape(each.attack.name)}<td>{each.attack.family}"
        f'<td class="outcome {each.outcome}">{each.outcome}'
        f'<td>{escape(each.attack.mechanism)}.<br><span class="source">'
        f'{escape(each.attack.source)}</span><td class="evidence">{escape(each.evidence)}'
        for each in worst_first
    ]
