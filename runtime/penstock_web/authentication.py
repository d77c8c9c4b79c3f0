"""Authentication of readers, for a console that is not public."""

from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from penstock.errors import ConnectError
from penstock_web.access import Access

__all__ = ["users_only"]

_ASK: Final = {"WWW-Authenticate": 'Basic realm="Penstock: any name, and a token as the password", charset="UTF-8"'}


def users_only(access: Access) -> Middleware:
    """Return a middleware that answers only authenticated users. A browser prompts for a token as for a password."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            user = await access.user(request.headers)
        except ConnectError as e:
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=f"{e}\n")
        if user is None:
            text = "a token of the API server is required; create one with `kubectl create token SERVICE_ACCOUNT`\n"
            return web.Response(status=HTTPStatus.UNAUTHORIZED, headers=_ASK, text=text)
        return await handler(request)

    return check
