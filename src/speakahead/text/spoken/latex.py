"""Simple mathematics in LaTeX: ``$x^2$`` is "x squared", ``\\frac{a}{b}`` "a over b"."""

from __future__ import annotations

import re

_COMMANDS = {
    "times": "times", "cdot": "times", "div": "divided by", "pm": "plus or minus",
    "le": "less than or equal to", "leq": "less than or equal to", "lt": "less than",
    "ge": "greater than or equal to", "geq": "greater than or equal to", "gt": "greater than",
    "ne": "not equal to", "neq": "not equal to", "approx": "approximately equal to",
    "sim": "similar to", "equiv": "equivalent to", "propto": "proportional to",
    "infty": "infinity", "to": "to", "rightarrow": "to", "Rightarrow": "implies",
    "implies": "implies", "iff": "if and only if", "in": "in", "notin": "not in",
    "sum": "the sum of", "prod": "the product of", "int": "the integral of",
    "partial": "partial", "nabla": "nabla", "forall": "for all", "exists": "there exists",
    "cup": "union", "cap": "intersection", "subset": "subset of", "lim": "the limit of",
    "log": "log", "ln": "natural log", "sin": "sine", "cos": "cosine", "tan": "tangent",
    "exp": "exp", "max": "max", "min": "min", "ldots": "…", "dots": "…", "cdots": "…",
    "varepsilon": "epsilon", "varphi": "phi", "quad": " ", "hbar": "h bar",
}  # fmt: skip
_SILENT = frozenset(
    "left right big Big bigl bigr text mathrm mathbf mathbb mathcal mathit operatorname textbf "
    "textit displaystyle begin end limits boxed".split()
)
_SIGNS = {
    "=": " equals ", "+": " plus ", "-": " minus ", "−": " minus ", "*": " times ",
    "<": " less than ", ">": " greater than ", "/": " over ", "&": " ", "~": " ",
    "{": " ", "}": " ", "[": " ", "]": " ", "(": " ", ")": " ", "|": " ", "'": " prime ",
    "!": " factorial ", "\\": " ", "%": " percent ",
}  # fmt: skip
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]{0,200})\}\s?\{([^{}]{0,200})\}")
_ROOT = re.compile(r"\\sqrt\s?\{([^{}]{0,200})\}")
_POWER = re.compile(r"\^(?:\{([^{}]{0,100})\}|(-?\w))")
_INDEX = re.compile(r"_(?:\{([^{}]{0,100})\}|(\w))")
_COMMAND = re.compile(r"\\([A-Za-z]{1,30})")
_SPACING = re.compile(r"\\[,;:! \\]")
_SIGN = re.compile(r"[=+\-−*<>/&~{}\[\]()|'!\\%]")
_POWERS = {"2": " squared ", "3": " cubed ", "T": " transpose ", "\\circ": " degrees "}


def _power(match: re.Match[str]) -> str:
    exponent = (match[1] if match[1] is not None else match[2]).strip()
    return _POWERS.get(exponent, f" to the power of {exponent} ")


def _command(match: re.Match[str]) -> str:
    name = match[1]
    return " " if name in _SILENT else f" {_COMMANDS.get(name, name)} "


def spoken_latex(source: str) -> str:
    """A formula in English words; its numbers are left as digits."""
    for _ in range(3):  # fractions inside fractions, a few deep
        source = _FRACTION.sub(r" \1 over \2 ", source)
        source = _ROOT.sub(r" the square root of \1 ", source)
    source = _POWER.sub(_power, source)
    source = _INDEX.sub(lambda m: f" sub {m[1] or m[2] or ''} ", source)
    source = _SPACING.sub(" ", source)
    source = _COMMAND.sub(_command, source)
    source = _SIGN.sub(lambda m: _SIGNS[m[0]], source)
    return " ".join(source.split())
