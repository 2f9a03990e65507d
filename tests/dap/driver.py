"""A session without a process: requests are handled at once, and what is sent is checked as it comes."""

from __future__ import annotations

import json
from typing import Any

from lsp_server.dap.server import HANDLERS
from lsp_server.dap.session import Session


class Driver:
    """Asks, works until the run stands, and keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.seq = 0
        self.session = Session(self.take, HANDLERS, lambda _seq: False)

    def take(self, message: dict[str, Any]) -> None:
        json.dumps(message, allow_nan=False)
        assert "failed inside the adapter" not in json.dumps(message), message
        self.sent.append(message)

    def ask(self, command: str, arguments: Any = None) -> None:
        self.seq += 1
        self.session.handle({"seq": self.seq, "type": "request", "command": command, "arguments": arguments})

    def work(self, slices: int = 400) -> None:
        for _ in range(slices):
            if self.session.motion is None:
                return
            self.session.work()

    def check(self) -> None:
        """Every request was answered once, in order of the numbers of what was sent; the ends came once."""
        assert [each["seq"] for each in self.sent] == list(range(1, len(self.sent) + 1))
        answered = [each["request_seq"] for each in self.sent if each["type"] == "response"]
        assert sorted(answered) == list(range(1, self.seq + 1))
        events = [each["event"] for each in self.sent if each["type"] == "event"]
        for name in ("initialized", "exited", "terminated"):
            assert events.count(name) <= 1
        assert "terminated" not in events or not set(events[events.index("terminated") + 1 :]) - {"output"}
        if "initialized" in events:
            assert events[0] == "initialized"

    @property
    def stop(self) -> dict[str, Any] | None:
        """The last stop, None once the session has ended."""
        events = [each for each in self.sent if each["type"] == "event" and each["event"] in ("stopped", "terminated")]
        found: dict[str, Any] | None = events[-1].get("body") if events and events[-1]["event"] == "stopped" else None
        return found

    def answer(self, command: str, arguments: Any = None) -> Any:
        """The body of the response, which must be a success."""
        self.ask(command, arguments)
        self.work(1_000_000)
        response = next(each for each in reversed(self.sent) if each.get("request_seq") == self.seq)
        assert response["success"], response
        return response.get("body")
