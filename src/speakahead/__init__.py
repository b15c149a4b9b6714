"""Speech that starts before the agent has finished writing."""

import os

# ONNX Runtime reports its use to its makers unless this is set before it is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
