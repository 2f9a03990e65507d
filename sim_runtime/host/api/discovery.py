"""The document that says what this host is; and whether it is well."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from analyzer.__about__ import __version__
from sim_runtime.host.api.requests import VERSION, VERSION_HEADER, reply
from sim_runtime.host.catalogue import fixtures_of
from sim_runtime.host.claims import WORKER, live_tokens
from sim_runtime.host.events import ENGINE_VERSION, EVENT_LOG_VERSION
from sim_runtime.host.store import HostStore
from sim_runtime.host.timing import SWEEP_STALL_MS


class Discovery:
    """The discovery document; it does not change while the process lives."""

    def __init__(self, store: HostStore, signing_keys: list[dict[str, Any]], build: str) -> None:
        names = [row[0] for row in store.all("select workflow from host_catalogue")]
        document = {
            "protocolVersions": [VERSION],
            "preferredVersion": VERSION,
            "implementation": {
                "name": "workfile-host",
                "version": __version__,
                "build": {"kind": "artifact-sha256", "id": build},
            },
            "engineVersion": ENGINE_VERSION,
            "eventLogSchemaVersion": EVENT_LOG_VERSION,
            "fixtures": fixtures_of(names),
            "signingKeys": signing_keys,
        }
        self._body = json.dumps(document, ensure_ascii=False).encode()
        self._etag = f'"{hashlib.sha256(self._body).hexdigest()[:32]}"'

    def reply(self, request: Request) -> Response:
        """The document, or that it has not changed."""
        headers = {VERSION_HEADER: VERSION, "ETag": self._etag, "Cache-Control": "no-cache"}
        known = [each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")]
        if self._etag in known or known == ["*"]:
            return Response(None, 304, headers)
        return Response(self._body, 200, headers, "application/json")


def health(store: HostStore) -> Response:
    """Whether work is done: workers live, and the sweep runs. 503 when not."""
    workers = len(live_tokens(store, WORKER))
    row = store.one("select max(at) from host_sweeps")
    age = None if row is None or row[0] is None else max(0, round((time.monotonic() - row[0]) * 1000))
    well = workers > 0 and age is not None and age <= SWEEP_STALL_MS
    body = {"status": "ok" if well else "degraded", "workers": workers, "lastSweepMsAgo": age}
    return reply(200 if well else 503, body)
