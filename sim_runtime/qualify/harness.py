"""Drives all rows against a host, and writes the bundle."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

from analyzer.__about__ import __version__
from sim_runtime.qualify import extension
from sim_runtime.qualify.bundle import Discovery, HostIdentity, Relaxation, Row, make_bundle
from sim_runtime.qualify.client import DISCOVERY_PATH, Address, Client, Reply, TransportLoss, is_loopback
from sim_runtime.qualify.evidence import NotDerived, RecoveryBound, derive_rung
from sim_runtime.qualify.ijson import NotIJson, NotJson, read_ijson
from sim_runtime.qualify.keys import SigningKey, id_of_key
from sim_runtime.qualify.names import (
    BUILD_KINDS,
    KILL_ROWS,
    MULTI_INSTANCE,
    MULTI_REGION,
    PASS,
    PEER_RESUME,
    RELAXATION_LIFETIMES,
    RUNGS,
    SINGLE_INSTANCE,
)
from sim_runtime.qualify.peer import peer_resume
from sim_runtime.qualify.processes import HostProcess, tail
from sim_runtime.qualify.receiver import EffectReceiver
from sim_runtime.qualify.rows import BOUND, EXERCISES, KILL, Course, drive
from sim_runtime.qualify.timing import Limits

MULTI_REGION_STATEMENT: Final = (
    "multi-region-qualified is not earned: it needs a backup that was restored and a region that was evacuated while"
    " the surviving one served real traffic, with RPO and RTO measured; a second region is not there to be evacuated"
)
EFFECTS_OBLIGATION: Final = "effects.egress-guard"
UNSTATED: Final = "unstated"
#: Where `workfile host` finds the keys to publish, and its bearer key; another host may read them too.
SIGNING_VARIABLE: Final = "WORKFILE_HOST_SIGNING_KEYS"
KEY_VARIABLE: Final = "WORKFILE_HOST_KEY"


class CannotQualify(Exception):
    """The exercises cannot even begin; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for."""

    address: Address
    key: str | None
    rung: str = SINGLE_INSTANCE
    start: str | None = None
    limits: Limits = field(default_factory=Limits)
    receiver: tuple[str, int] = ("127.0.0.1", 0)
    receiver_front: str | None = None
    build: tuple[str, str] | None = None
    relaxations: tuple[Relaxation, ...] = ()
    #: The public key of the bundle to come, for a host that we start to publish: an entry of ``signingKeys``.
    published: Mapping[str, str] | None = None
    #: The rows of durable-single-instance to drive; without all of them no rung follows.
    rows: tuple[str, ...] = tuple(EXERCISES)


@dataclass(frozen=True, slots=True)
class Result:
    """What came out. ``earned`` is the rung that follows from the rows."""

    rows: tuple[Row, ...]
    peer: Row | None
    earned: str | None
    asked: str
    deaths: int
    host: HostIdentity
    discovery: Discovery
    remarks: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the rung that was asked for, or a higher one, is earned."""
        return self.earned is not None and RUNGS.index(self.earned) >= RUNGS.index(self.asked)

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """The rows with that of the extension."""
        return self.rows if self.peer is None else (*self.rows, self.peer)


Progress = Callable[[Row, float], None]


def qualify(request: Request, progress: Progress) -> Result:
    """Drive the rows. ``progress`` is told each row and how many seconds it took.

    Raises ``CannotQualify``, or ``CannotStart`` for a command that cannot be run.
    """
    client = Client(request.address, request.key, request.limits.request)
    with ExitStack() as stack:
        process = _start(request, client, stack)
        discovery = _discover(client)
        course = _course(request, client, process, discovery)
        probe = _probe(client)
        rows = [_timed(name, course, EXERCISES[name], progress) for name in request.rows]
        peer = None
        if RUNGS.index(request.rung) >= RUNGS.index(MULTI_INSTANCE):
            peer = _timed(PEER_RESUME, course, peer_resume, progress)
    host = _identify(request, discovery, course, probe)
    earned = _earned(rows, peer, course.remarks)
    _remark(course, rows, request)
    return Result(
        tuple(rows), peer, earned, request.rung, course.deaths, host, discovery, tuple(dict.fromkeys(course.remarks))
    )


def _start(request: Request, client: Client, stack: ExitStack) -> HostProcess | None:
    if request.start is None:
        return None
    try:
        client.get(DISCOVERY_PATH, 2.0)
    except TransportLoss:
        pass
    else:
        raise CannotQualify(
            f"something answers at {request.address.url} already: stop it, or leave `--start` out to judge it."
        )
    log: IO[bytes] = stack.enter_context(TemporaryFile())  # noqa: SIM115 - the stack closes it
    environment = {} if request.published is None else {SIGNING_VARIABLE: json.dumps(dict(request.published))}
    if request.key is not None:
        environment[KEY_VARIABLE] = request.key
    process = stack.enter_context(HostProcess(request.start, log, request.limits.stop, environment))
    deadline = time.monotonic() + request.limits.start
    while time.monotonic() < deadline and not process.given_up:
        try:
            if client.get(DISCOVERY_PATH, 2.0).status < 500:
                return process
        except TransportLoss:
            time.sleep(0.05)
    raise CannotQualify(f"the host did not come up at {request.address.url}; its last words: {tail(log) or 'none'}")


def _discover(client: Client) -> Discovery:
    try:
        reply = client.get(DISCOVERY_PATH)
    except TransportLoss as loss:
        raise CannotQualify(f"the host does not answer ({loss}): start it, or give `--start`.") from None
    try:
        document = read_ijson(reply.body)
    except (NotJson, NotIJson) as error:
        raise CannotQualify(f"{DISCOVERY_PATH} is not a document that can be signed for: {error}.") from None
    if reply.status != 200 or not isinstance(document, dict):
        raise CannotQualify(f"{DISCOVERY_PATH} answers {reply.status} without a JSON object: this is not such a host.")
    return Discovery(client.address.url + DISCOVERY_PATH, document)


def _course(request: Request, client: Client, process: HostProcess | None, discovery: Discovery) -> Course:
    fixtures = discovery.document.get("fixtures")
    named = [each for each in fixtures if isinstance(each, str)] if isinstance(fixtures, list) else []
    return Course(
        client,
        request.limits,
        process,
        lambda: EffectReceiver(request.receiver, request.receiver_front),
        frozenset(named),
    )


def _probe(client: Client) -> list[Reply]:
    """What the seam says of itself: our host tells its relaxations there."""
    found = []
    for path in (KILL, BOUND):
        try:
            reply = client.get(path)
        except TransportLoss:
            continue
        if reply.status == 200:
            found.append(reply)
    return found


def _timed(name: str, course: Course, exercise: Callable[[Course], None], progress: Progress) -> Row:
    started = time.monotonic()
    row = drive(name, course, exercise)
    progress(row, time.monotonic() - started)
    return row


def _identify(request: Request, discovery: Discovery, course: Course, probes: Sequence[Reply]) -> HostIdentity:
    told = discovery.document.get("implementation")
    implementation = told if isinstance(told, dict) else {}
    kind, build = request.build or _told_build(implementation.get("build"))
    if build == UNSTATED:
        course.remarks.append("the host does not say which build it is: give `--build KIND:ID`")
    relaxations = [*request.relaxations, *_told_relaxations([discovery.document, *(each.members for each in probes)])]
    declared = {each.obligation: each for each in reversed(relaxations)}
    inside = request.receiver_front is None and is_loopback(request.receiver[0])
    if course.arrived and inside and not any("egress" in each for each in declared):
        reason = "observed: the host called a receiver on loopback and declares no relaxation"
        declared[EFFECTS_OBLIGATION] = Relaxation(EFFECTS_OBLIGATION, "deployment", reason)
        course.remarks.append(f"{reason}; it is recorded as relaxed")
    return HostIdentity(
        _text(implementation.get("name")),
        _text(implementation.get("version")),
        kind,
        build,
        tuple(declared[each] for each in sorted(declared)),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else UNSTATED


def _told_build(told: object) -> tuple[str, str]:
    kind, build = (told.get("kind"), told.get("id")) if isinstance(told, dict) else (None, None)
    if isinstance(kind, str) and kind in BUILD_KINDS and isinstance(build, str) and build:
        return kind, build
    return "commit", UNSTATED


def _told_relaxations(sources: Sequence[Mapping[str, Any]]) -> list[Relaxation]:
    found = []
    for source in sources:
        listed = source.get("relaxations")
        for each in listed if isinstance(listed, list) else ():
            obligation = each.get("obligation") if isinstance(each, dict) else each
            if not isinstance(obligation, str) or not obligation:
                continue
            told = each if isinstance(each, dict) else {}
            lifetime, reason = told.get("durability"), told.get("reason")
            found.append(
                Relaxation(
                    obligation,
                    lifetime if isinstance(lifetime, str) and lifetime in RELAXATION_LIFETIMES else "deployment",
                    reason if isinstance(reason, str) and reason else "declared by the host without a reason",
                )
            )
    return found


def _earned(rows: Sequence[Row], peer: Row | None, remarks: list[str]) -> str | None:
    listed = [row.as_json() for row in rows]
    try:
        rung = derive_rung(listed)
    except NotDerived as reason:
        remarks.append(f"no rung follows: {reason}")
        return None
    if peer is None:
        return rung
    try:
        return extension.derive_multi_instance({"results": {"requirements": listed}}, peer.as_json())
    except NotDerived as reason:
        remarks.append(f"{MULTI_INSTANCE} does not follow: {reason}")
        return rung


def _remark(course: Course, rows: Sequence[Row], request: Request) -> None:
    for row in rows:
        if row.id in KILL_ROWS and row.result == PASS and row.evidence is not None:
            course.remarks.extend(_suspicious(row.id, row.evidence["recovery"], course.bounds))
    if request.rung == MULTI_REGION:
        course.remarks.append(MULTI_REGION_STATEMENT)


def _suspicious(name: str, recovery: Mapping[str, Any], bounds: Sequence[RecoveryBound]) -> list[str]:
    """A recovery far quicker than its class can be, which another class explains: no arithmetic can refuse it."""
    observed = recovery["observedMs"]
    own = next((each for each in bounds if each.name == recovery["class"]), None)
    if own is None:
        return []
    longest = max(own.terms, key=lambda term: term.ms)
    other = next((each for each in bounds if each is not own and observed <= each.bound < longest.ms), None)
    if other is None or observed * 2 >= longest.ms:
        return []
    remark = (
        f"`{name}` resumed after {observed} ms, long before the {longest.ms} ms of `{longest.name}` were over: the"
        f" kill may have landed in class `{other.name}`, before the work was claimed"
    )
    return [remark]


def write_bundle(result: Result, key: SigningKey, key_id: str | None) -> dict[str, Any] | None:
    """The signed bundle; nothing when no row asserted anything, for then there is nothing to attest."""
    if not any(row.assertions for row in result.rows):
        return None
    name = key_id or id_of_key(result.discovery.document, key.public) or key.default_id()
    made = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    bundle = make_bundle(
        result.rows,
        result.host,
        result.discovery,
        version=__version__,
        generated_at=made,
        rung=None if result.earned is None else SINGLE_INSTANCE,
        key=key,
        key_id=name,
    )
    if result.peer is not None:
        extension.extend(bundle, result.peer, key, name)
    return bundle


def as_report(result: Result, bundle: Path | None) -> dict[str, Any]:
    """The report of ``--format json``."""
    rows = []
    for row in result.all_rows:
        entry = {name: value for name, value in row.as_json().items() if name != "scenario"}
        rows.append(entry)
    return {
        "version": 1,
        "rung": {"asked": result.asked, "earned": result.earned},
        "passed": result.passed,
        "deaths": result.deaths,
        "rows": rows,
        "relaxations": [each.as_json() for each in result.host.relaxations],
        "remarks": list(result.remarks),
        "bundle": None if bundle is None else str(bundle),
    }
