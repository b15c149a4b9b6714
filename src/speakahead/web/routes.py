"""Routes of the page: plain files, and what it offers in its menus."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_FOLDER = Path(__file__).parent / "static"

_HEADERS = {
    # Sound comes from memory (``blob:``), an empty icon from the page itself (``data:``); nothing
    # else is loaded from anywhere but this server, and no other site may frame the page.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    # A new version of the package is seen at once; the files are small and have an ETag.
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class Menu:
    """What the page offers.

    Attributes:
        voices: names; without any, only the agent's own voice.
        voice: the agent's own.
        model: what writes the replies, as it is shown.
    """

    voices: tuple[str, ...] = ()
    voice: str = "af_heart"
    model: str = ""


def page_routes(menu: Menu) -> list[BaseRoute]:
    """The page at ``/``, its files below ``/static`` and the menu at ``/menu.json``."""

    async def index(_: Request) -> Response:
        return FileResponse(_FOLDER / "index.html", headers=_HEADERS)

    async def menu_json(_: Request) -> Response:
        return JSONResponse(asdict(menu), headers=_HEADERS)

    return [
        Route("/", index),
        Route("/menu.json", menu_json),
        Mount("/static", _Files(directory=_FOLDER)),
    ]


class _Files(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response
