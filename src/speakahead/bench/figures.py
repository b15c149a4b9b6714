"""What all measurements share: spreads, interleaved trials, and the rule that nothing is blank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from speakahead.errors import SpeakaheadError


class MeasurementFailed(SpeakaheadError):
    """A figure is missing, or cannot be right."""

    code: ClassVar[str] = "measurement_failed"
    retryable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Spread:
    """Where measured values of one unit lie.

    Attributes:
        n: how many there are, at least 1.
        median, p95: by linear interpolation.
        least, most: the extremes.
    """

    n: int
    median: float
    p95: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float], *, digits: int = 1) -> Spread:
        """The spread of finite values, rounded.

        Raises:
            MeasurementFailed: there are none, or one is not finite.
        """
        if not len(values):
            raise MeasurementFailed("Nothing was measured: ask for more trials, or more time.")
        array = np.asarray(values, np.float64)
        if not np.isfinite(array).all():
            raise MeasurementFailed("A measured value is not a finite number.")
        return cls(
            n=len(array),
            median=round(float(np.median(array)), digits),
            p95=round(float(np.percentile(array, 95)), digits),
            least=round(float(array.min()), digits),
            most=round(float(array.max()), digits),
        )

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def rounded(values: Sequence[float], digits: int = 1) -> list[float]:
    """Values for JSON."""
    return [round(float(value), digits) for value in values]


def interleaved[S](sides: Sequence[S], trials: int) -> Iterator[S]:
    """Each side once in every trial; who comes first changes from trial to trial.

    A machine that gets slower or busier during a run then does so for all sides alike.
    """
    for trial in range(trials):
        first = trial % len(sides)
        yield from [*sides[first:], *sides[:first]]


MAY_BE_EMPTY = frozenset({"absent", "errors", "notes"})
"""Lists of what is wrong: it is well if there is nothing in them."""


def complete(figures: Any, where: str = "") -> Any:
    """Return figures that are ready for JSON, if none is missing.

    Raises:
        MeasurementFailed: one is None, not finite, or an empty text, list or object (but for those
            of ``MAY_BE_EMPTY``); the sentence names it by its path, as in ``load.runs.0.p95``.
    """
    name = where or "the result"
    match figures:
        case None:
            raise MeasurementFailed(f"A figure is missing: {name}.")
        case float() if not math.isfinite(figures):
            raise MeasurementFailed(f"A figure is not finite: {name}.")
        case str() if not figures.strip():
            raise MeasurementFailed(f"A figure is empty: {name}.")
        case bool() | int() | float() | str():
            pass
        case [] | {} if where.rsplit(".", 1)[-1] in MAY_BE_EMPTY and not figures:
            pass
        case Mapping():
            if not figures:
                raise MeasurementFailed(f"There are no figures: {name}.")
            for key, value in figures.items():
                complete(value, f"{where}.{key}" if where else str(key))
        case list() | tuple():
            if not figures:
                raise MeasurementFailed(f"There are no figures: {name}.")
            for number, value in enumerate(figures):
                complete(value, f"{where}.{number}" if where else str(number))
        case _:
            raise MeasurementFailed(f"This is no figure: {name}.")
    return figures
