"""The report page: one file, without scripts and without anything from elsewhere."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from speakahead.bench import machine
from speakahead.bench.claims import Claim
from speakahead.bench.pictures import Picture
from speakahead.bench.published import QUOTED
from speakahead.bench.sections import Section

_STYLE = """
:root { color-scheme: light; --ink: #212529; --soft: #495057; --line: #dee2e6; --accent: #0b7285 }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 62rem; padding: 3rem 1.5rem 5rem; color: var(--ink);
  background: #fff; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.01em }
h2 { font-size: 1.3rem; margin: 3.5rem 0 .4rem; padding-top: 1rem;
  border-top: 1px solid var(--line) }
p { margin: .5rem 0; max-width: 46rem } .soft { color: var(--soft); font-size: .9rem }
table { border-collapse: collapse; width: 100%; margin: 1.2rem 0; font-size: .92rem }
th { text-align: left; font-weight: 600; color: var(--soft) }
th, td { padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
td.yes { color: #2b8a3e; font-weight: 600; white-space: nowrap }
td.no, .failed { color: #c92a2a; font-weight: 600 } td.no { white-space: nowrap }
figure { margin: 1.4rem 0 } figure img { width: 100%; height: auto; display: block }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem }
pre { overflow-x: auto; background: #f8f9fa; padding: .9rem 1rem; border-radius: .4rem;
  font: .78rem/1.5 ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace }
code { font: .88em ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace }
summary { cursor: pointer; color: var(--accent) }
nav a { margin-right: 1rem } a { color: var(--accent) }
"""


def render(
    document: Mapping[str, Any],
    sections: Sequence[Section],
    drawn: Mapping[str, Sequence[Picture]] | None = None,
) -> str:
    """The page of a result file, as HTML.

    Args:
        document: as :func:`speakahead.bench.proof.measure_all` returns it.
        sections: those that may be in it.
        drawn: their pictures, if they are drawn already.
    """
    known = {section.name: section for section in sections}
    parts = document["sections"]
    present = [(known[name], part) for name, part in parts.items() if name in known]
    body = [
        "<h1>What speakahead claims, measured</h1>",
        f'<p class="soft">{_text(document["date"][:16].replace("T", " "))} UTC · '
        f"{_text(machine.sentence(document['machine']))} · "
        f"{document['seconds'] / 60:.0f} minutes</p>",
        _conditions(document),
        _contents([section for section, _ in present]),
        _claims([claim for part in parts.values() for claim in part.get("claims", [])]),
        *(_section(section, part, (drawn or {}).get(section.name)) for section, part in present),
        "<h2>Quoted</h2>",
        "<ul>" + "".join(f"<li>{_text(each.label)}</li>" for each in QUOTED) + "</ul>",
        "<h2>Machine</h2>",
        f"<pre>{_text(_listed(document['machine']))}</pre>",
        '<p class="soft">All of this again: <code>make bench</code>. This page again, from its '
        "result file: <code>speakahead bench page FILE</code>.</p>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>speakahead: measured</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _contents(sections: Sequence[Section]) -> str:
    links = (f'<a href="#{section.name}">{_text(section.title)}</a>' for section in sections)
    return f"<nav>{''.join(links)}</nav>"


def _conditions(document: Mapping[str, Any]) -> str:
    busy = document["busyness"]
    quick = (
        '<p class="failed">Tiny sizes: this run shows that everything works, and says little.</p>'
        if document["quick"]
        else ""
    )
    return (
        f'<p class="soft">Load average before the start {busy["load_before"]:.2f}; of the '
        f"processor's time, {busy['stolen_share']:.1%} went to other virtual machines. Sides of a "
        f"comparison take turns within one run; medians and spreads are of the same run.</p>{quick}"
    )


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    verdicts = {True: '<td class="yes">met</td>', False: '<td class="no">not met</td>'}
    rows = "".join(
        f"<tr><td>{_text(c['what'])}</td><td>{_text(c['wanted'])}</td>"
        f"<td>{_text(c['measured'])}</td>{verdicts[bool(c['met'])]}</tr>"
        for c in claims
    )
    head = "<tr><th>What</th><th>Wanted</th><th>Measured</th><th></th></tr>"
    return f"<p>{_text(_unmet([bool(c['met']) for c in claims]))}</p><table>{head}{rows}</table>"


def _section(section: Section, part: Mapping[str, Any], drawn: Sequence[Picture] | None) -> str:
    lines = [
        f'<h2 id="{section.name}">{_text(section.title)}</h2>',
        f"<p>{_code(section.about)}</p>",
    ]
    if "error" in part:
        code, message = (_text(part["error"][key]) for key in ("code", "message"))
        lines.append(f'<p class="failed">Not measured ({code}): {message}</p>')
    else:
        pictures = section.pictures(part["result"]) if drawn is None else drawn
        lines += [_picture(picture) for picture in pictures]
        lines.append(
            f"<details><summary>The figures</summary><pre>{_text(part['table'])}</pre></details>"
        )
    lines.append(
        f'<p class="soft">Alone: <code>{_text(section.command)}</code> · '
        f"{part['seconds']:.0f} s · load average before {part['busyness']['load_before']:.2f}, "
        f"{part['busyness']['stolen_share']:.1%} of the processor's time stolen</p>"
    )
    return "\n".join(lines)


def _picture(picture: Picture) -> str:
    # As an image, so that identifiers of several pictures do not meet.
    data = base64.b64encode(picture.svg.encode()).decode("ascii")
    caption = _text(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _listed(values: Mapping[str, Any], indent: str = "") -> str:
    lines: list[str] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{key}", _listed(value, indent + "  ")]
        elif isinstance(value, list):
            lines.append(f"{indent}{key:<14} {', '.join(map(str, value))}")
        else:
            lines.append(f"{indent}{key:<14} {value}")
    return "\n".join(lines)


def claims_table(claims: Iterable[Claim]) -> str:
    """The claims for people, on a terminal."""
    lines, met = [], []
    for c in claims:
        verdict = "met    " if c.met else "NOT MET"
        lines.append(f"{verdict}  {c.what}: {c.measured} (wanted: {c.wanted})")
        met.append(c.met)
    return "\n".join([*lines, _unmet(met)])


def _unmet(met: Sequence[bool]) -> str:
    return f"Not met: {len(met) - sum(met)} of {len(met)} claims."


def _text(value: object) -> str:
    return html.escape(str(value))


def _code(text: str) -> str:
    """Text in which `this` is code."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(pieces))
