"""What a request must be: version, key, rate, size, form; and what a reply looks like."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from sim_runtime.host.accepting import Refusal
from sim_runtime.qualify.ijson import NotIJson, NotJson, read_ijson

MAJOR: Final = "2"
VERSION: Final = "2.0"
VERSION_HEADER: Final = "OpenWOP-Version"
MAX_BODY: Final = 1024 * 1024
MAX_KEY: Final = 200
#: How many requests may come at once after a calm: this many seconds' worth.
BURST_SECONDS: Final = 2.0


def reply(status: int, body: Any, headers: dict[str, str] | None = None) -> Response:
    """A JSON reply under the protocol's version."""
    return JSONResponse(body, status, {VERSION_HEADER: VERSION, **(headers or {})})


def refused(refusal: Refusal) -> Response:
    """A refusal as the protocol has it: ``{error, message, details?}``."""
    body = {"error": refusal.code, "message": refusal.message}
    if refusal.details is not None:
        body["details"] = refusal.details
    headers = {"Retry-After": "1"} if refusal.status in (429, 503) else {}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return reply(refusal.status, body, headers)


def invalid(message: str) -> Refusal:
    """A request of the wrong form."""
    return Refusal(400, "validation_error", message)


def not_found(what: str = "there is no such route") -> Refusal:
    """Nothing is there."""
    return Refusal(404, "not_found", what)


def check_version(request: Request) -> None:
    """The protocol's major version, where one is asked for. Raises ``Refusal``."""
    asked = request.headers.get(VERSION_HEADER)
    if asked is not None and asked.strip().partition(".")[0] != MAJOR:
        message = f"version `{asked[:20]}` of the protocol is not spoken here"
        raise Refusal(406, "protocol_version_unsupported", message, {"protocolVersions": [VERSION]})


def check_key(request: Request, key: bytes) -> None:
    """The bearer key. Raises ``Refusal``."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    digests = [hashlib.sha256(each).digest() for each in (given.strip().encode("utf-8", "surrogateescape"), key)]
    if scheme.lower() != "bearer" or not hmac.compare_digest(*digests):
        raise Refusal(401, "unauthenticated", "the request needs the host's key: `Authorization: Bearer KEY`")


class Rate:
    """A token bucket. ``None`` is no limit."""

    def __init__(self, per_second: float | None) -> None:
        self._rate = per_second
        self._level = (per_second or 0) * BURST_SECONDS
        self._at = time.monotonic()

    def check(self) -> None:
        """Take a token. Raises ``Refusal``."""
        if self._rate is None:
            return
        now = time.monotonic()
        most = max(1.0, self._rate * BURST_SECONDS)
        self._level = min(most, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1:
            raise Refusal(429, "rate_limited", f"more than {self._rate:g} requests a second: come back later")
        self._level -= 1


def path_of(request: Request) -> list[str]:
    """The segments of the path, split before they are decoded, so that a run's id may hold a slash."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    text = raw.partition(b"?")[0].decode("ascii", "replace")
    return [unquote(each) for each in text.strip("/").split("/")]


def run_id(segment: str) -> str:
    """The id of a run in a path; a newer projection writes the slash as ``~2F``."""
    return segment.replace("~2F", "/").replace("~2f", "/")


def query_of(request: Request) -> dict[str, str]:
    """The query; a name that stands twice counts with its last value."""
    return dict(parse_qsl(request.scope["query_string"].decode("ascii", "replace"), keep_blank_values=True))


def whole(text: str | None, default: int, name: str) -> int:
    """A whole number of the query. Raises ``Refusal``."""
    if text is None:
        return default
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 15:
        raise invalid(f"`{name}` is a whole number")
    return int(text)


async def body_of(request: Request, known: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object of a request, with known members only. Raises ``Refusal``."""
    data = bytearray()
    try:
        async for chunk in request.stream():
            data.extend(chunk)
            if len(data) > MAX_BODY:
                raise Refusal(413, "payload_too_large", f"a body has at most {MAX_BODY} bytes")
    except ClientDisconnect:
        raise invalid("the body ended too early") from None
    try:
        body = read_ijson(bytes(data))
    except (NotJson, NotIJson) as error:
        raise invalid(f"the body is not JSON that every reader understands alike: {error}") from None
    if not isinstance(body, dict):
        raise invalid("the body is a JSON object")
    for name in body:
        if name not in known:
            raise invalid(f"`{name[:80]}` is not known here; known are {', '.join(f'`{each}`' for each in known)}")
    for name in needed:
        if name not in body:
            raise invalid(f"`{name}` is missing")
    return body


def text_in(body: dict[str, Any], name: str, limit: int = 1_000) -> str:
    """A text of a body. Raises ``Refusal``."""
    value = body.get(name)
    if not isinstance(value, str) or not value or len(value) > limit:
        raise invalid(f"`{name}` is a string of 1 to {limit} characters")
    return value
