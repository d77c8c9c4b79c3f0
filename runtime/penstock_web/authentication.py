"""Authentication of readers, where the console is not for everybody."""

from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from penstock.errors import ConnectError
from penstock_web.access import Access

__all__ = ["users_only"]

_ASK: Final = {"WWW-Authenticate": 'Basic realm="Penstock: any name, and a token as the password", charset="UTF-8"'}


def users_only(access: Access) -> Middleware:
    """Return a middleware that answers authenticated users only. A browser asks for a token, as for a password."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            user = await access.user(request.headers)
        except ConnectError as e:
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=f"{e}\n")
        if user is None:
            text = "a token of the API server is needed: kubectl create token SERVICE_ACCOUNT\n"
            return web.Response(status=HTTPStatus.UNAUTHORIZED, headers=_ASK, text=text)
        return await handler(request)

    return check
