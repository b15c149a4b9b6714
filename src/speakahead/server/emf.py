"""CloudWatch metrics without a network: a line of JSON on standard output for each utterance.

CloudWatch Logs reads metrics from lines in the embedded metric format, and what a container of
Amazon SageMaker AI or Bedrock AgentCore prints goes there. Off unless ``AWS_EMF_NAMESPACE`` is
set; ``AWS_EMF_SERVICE_NAME`` is the dimension ``ServiceName`` (both as in Amazon's own libraries
for the format). No text is in a line.

Source: "Specification: Embedded metric format" in the Amazon CloudWatch user guide.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from speakahead.backends.observation import UtteranceRecord
from speakahead.server.logs import safe_id
from speakahead.server.metrics import outcome_of, stages

NAMESPACE_VARIABLE = "AWS_EMF_NAMESPACE"
SERVICE_VARIABLE = "AWS_EMF_SERVICE_NAME"

_DIMENSIONS = (("ServiceName",), ("ServiceName", "Outcome"))
_UNITS = {
    "Utterances": "Count",
    "FirstSoundLatency": "Milliseconds",
    "AudioDuration": "Seconds",
}


class EmbeddedMetrics:
    """An observer that prints a line for each utterance."""

    def __init__(
        self,
        namespace: str,
        service: str,
        facts: Mapping[str, str] | None = None,
        output: TextIO | None = None,
    ) -> None:
        """
        Args:
            namespace: the metrics' namespace in CloudWatch.
            service: value of the dimension ``ServiceName``.
            facts: what each line tells besides, such as the engine; no dimensions.
            output: where lines go; standard output by default.
        """
        self._namespace = namespace
        self._service = service
        self._facts = dict(facts or {})
        self._output = output

    def utterance_ended(self, record: UtteranceRecord) -> None:
        """Print the line of an utterance."""
        line = json.dumps(self.document(record), separators=(",", ":"))
        print(line, file=self._output or sys.stdout, flush=True)

    def document(self, record: UtteranceRecord) -> dict[str, Any]:
        """What is printed: latency only where there was sound, times of stages in milliseconds."""
        values: dict[str, float] = {"Utterances": 1, "AudioDuration": round(record.audio_s, 3)}
        if record.first_sent_at is not None:
            values["FirstSoundLatency"] = _milliseconds(record.requested_at, record.first_sent_at)
        definition = {
            "Namespace": self._namespace,
            "Dimensions": _DIMENSIONS,
            "Metrics": [{"Name": name, "Unit": _UNITS[name]} for name in values],
        }
        outcome = outcome_of(record)
        return {
            "_aws": {"Timestamp": round(time.time() * 1000), "CloudWatchMetrics": [definition]},
            "ServiceName": self._service,
            "Outcome": outcome,
            **values,
            "Session": safe_id(record.session),
            "Utterance": safe_id(record.utterance),
            "Voice": safe_id(record.voice),
            **({"Error": record.outcome} if outcome == "failed" else {}),
            "Stages": {name: _milliseconds(*times) for name, times in stages(record).items()},
            **self._facts,
        }


def from_environment(facts: Mapping[str, str]) -> EmbeddedMetrics | None:
    """Embedded metrics as the environment asks for them; None where it does not."""
    namespace = os.environ.get(NAMESPACE_VARIABLE, "").strip()
    if not namespace:
        return None
    return EmbeddedMetrics(namespace, os.environ.get(SERVICE_VARIABLE) or "speakahead", facts)


def _milliseconds(began_at: float, ended_at: float) -> float:
    return round(1000 * (ended_at - began_at), 1)
