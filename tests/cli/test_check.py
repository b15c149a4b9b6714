"""`speakahead check` against what is no server of ours."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import ServerConnection, serve

from speakahead.cli.check import check


@contextmanager
def server_that_says(frame: str) -> Iterator[str]:
    def answer(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(frame)
        connection.recv()

    with serve(answer, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("frame", ["hello", "[1]", "7", "{}", '{"type": "error"}'])
def test_another_protocol_is_a_failure_with_a_sentence(
    frame: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with server_that_says(frame) as url:
        assert check(url, 2.0) is False
    assert "does not speak this protocol" in capsys.readouterr().out


@pytest.mark.parametrize("url", ["http://host:99999", "http://[", "ftp://host", "http://"])
def test_a_url_that_is_none_is_a_failure_with_a_sentence(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(url, 2.0) is False
    assert "The URL must begin with" in capsys.readouterr().out
