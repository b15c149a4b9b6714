"""The application as a process of its own: ``python -m tests.agent.process PORT SCRIPT``."""

import sys
from pathlib import Path

import uvicorn

from speakahead.agent.app import create_app, make_agent
from speakahead.agent.models.scripted import ScriptedModel, read_script
from tests.agent.rig import speech_backend


def main() -> None:
    model = ScriptedModel(read_script(Path(sys.argv[2])), tokens_per_second=100)
    app = create_app(lambda: make_agent(model, tools=False), speech_backend())
    uvicorn.run(app, port=int(sys.argv[1]), ws="websockets-sansio", log_level="warning")


if __name__ == "__main__":
    main()
