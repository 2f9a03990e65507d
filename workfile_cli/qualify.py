"""``workfile qualify``: judge a host's durability by killing it, and judge the evidence of others."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from workfile_cli.console import note, usage_line, write_result
from workfile_cli.main import EXIT_FINDINGS, EXIT_OK
from workfile_cli.options import format_option

if TYPE_CHECKING:
    from sim_runtime.qualify.bundle import Relaxation, Row
    from sim_runtime.qualify.client import Address
    from sim_runtime.qualify.harness import Request, Result
    from sim_runtime.qualify.keys import SigningKey
    from sim_runtime.qualify.verify import Expected, Verdict

#: `verify` needs 1, 2 and 3 for its outcomes.
EXIT_BAD_CALL = 64
RUN = "run"
RUNG_CHOICES = ("durable-single-instance", "durable-multi-instance", "multi-region-qualified")


class VerifyCommand(click.Command):
    """A command whose bad calls have an exit code of their own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """As every command's, but a bad call ends with 64."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            bad_call(error)

    def invoke(self, ctx: click.Context) -> Any:
        """As every command's, but a bad call ends with 64."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            bad_call(error)


def bad_call(error: click.ClickException) -> NoReturn:
    """Say it in a line and end. Raises ``click.exceptions.Exit``."""
    usage_line(error.format_message(), "workfile qualify verify")
    raise click.exceptions.Exit(EXIT_BAD_CALL) from None


class QualifyGroup(click.Group):
    """What is no subcommand is the URL of a host to judge."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command that judges a host where none is named."""
        if not args:
            raise click.UsageError("give the URL of a host, `verify BUNDLE` or `keygen FILE`.", ctx)
        if args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [RUN, *args]
        return super().parse_args(ctx, args)


@click.group("qualify", cls=QualifyGroup, subcommand_metavar="URL | verify BUNDLE | keygen FILE [OPTIONS]")
def qualify() -> None:
    """Judge how durable a host is, by killing it while it works.

    `workfile qualify URL` drives the durability rows against a host and writes an evidence bundle;
    `workfile qualify URL --help` lists its options. `verify` judges a bundle, `keygen` makes a signing key.
    """


@qualify.command(RUN, hidden=True)
@click.argument("url")
@click.option("--key-env", metavar="NAME", help="The environment variable that holds the host's bearer key.")
@click.option(
    "--signing-key", metavar="FILE", type=click.Path(path_type=Path), help="The Ed25519 key that signs the bundle."
)
@click.option("--key-id", metavar="ID", help="The name of the key, if the host publishes none for it.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the bundle to this file.")
@click.option("--start", metavar="COMMAND", help="Start the host with it; it is ended with the exercises.")
@click.option(
    "--rung",
    type=click.Choice(RUNG_CHOICES),
    default=RUNG_CHOICES[0],
    show_default=True,
    help="The rung that is asked for.",
)
@click.option("--build", metavar="KIND:ID", help="Which build of the host it is, if the host does not say.")
@click.option(
    "--relaxation",
    "relaxations",
    metavar="OBLIGATION:LIFETIME:REASON",
    multiple=True,
    help="An obligation that the host runs without; may be given several times.",
)
@click.option(
    "--ceiling",
    metavar="SECONDS",
    type=click.FloatRange(min=240, max=86_400),
    default=240,
    show_default=True,
    help="How long a recovery is observed at most; raise it to the host's bound.",
)
@click.option("--remote", is_flag=True, help="Allow a host on another machine: its processes will be killed.")
@click.option("--receiver", metavar="ADDRESS:PORT", help="Where the receiver of effects listens.")
@click.option("--receiver-url", metavar="URL", help="The URL by which the host reaches that receiver.")
@format_option("text", "json", name="output_format")
def run(
    url: str,
    key_env: str | None,
    signing_key: Path | None,
    key_id: str | None,
    output: Path | None,
    start: str | None,
    rung: str,
    build: str | None,
    relaxations: tuple[str, ...],
    ceiling: float,
    remote: bool,
    receiver: str | None,
    receiver_url: str | None,
    output_format: str,
) -> int:
    """Kill the processes of the host at URL while it works, and write what came out as an evidence bundle.

    The host must offer the durability seam: for `workfile host` that is `--durability-exercises`. The exit status is 0
    when the rung that is asked for is earned.
    """
    from sim_runtime.qualify.client import BadAddress, read_address
    from sim_runtime.qualify.harness import Request
    from sim_runtime.qualify.timing import Limits

    if (signing_key is None) != (output is None):
        raise click.UsageError("a bundle needs both `--signing-key` and `-o`.")
    key = _signing_key(signing_key, key_id)
    try:
        address = read_address(url)
        front = None if receiver_url is None else read_address(receiver_url).url
    except BadAddress as error:
        raise click.UsageError(str(error)) from None
    _check_remote(address, remote, start)
    request = Request(
        address,
        _bearer_key(key_env),
        rung=rung,
        start=start,
        limits=Limits(ceiling=ceiling),
        receiver=_listen_address(receiver),
        receiver_front=front,
        build=None if build is None else _build(build),
        relaxations=tuple(_relaxation(each) for each in relaxations),
        published=None if key is None else key.published(key_id or key.default_id()),
    )
    if output is not None:
        _check_writable(output)
    result = _judge(request)
    written = output if key is not None and output is not None and _write(result, key, key_id, output) else None
    return _report(request, result, written, output_format, wanted=output is not None)


def _judge(request: Request) -> Result:
    from sim_runtime.qualify import harness
    from sim_runtime.qualify.processes import CannotStart

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - the library's signature
        raise KeyboardInterrupt

    # A host that we started must not outlive us when we are told to end; only the main thread may say so.
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, interrupt) if is_main else None
    try:
        return harness.qualify(request, _progress)
    except (harness.CannotQualify, CannotStart) as error:
        raise click.ClickException(str(error)) from None
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)


def _signing_key(path: Path | None, key_id: str | None) -> SigningKey | None:
    from sim_runtime.qualify.keys import KeyProblem, read_signing_key

    _check_key_id(key_id)
    try:
        return None if path is None else read_signing_key(path)
    except KeyProblem as error:
        raise click.ClickException(str(error)) from None


def _check_key_id(key_id: str | None) -> None:
    from sim_runtime.qualify.names import KEY_ID

    if key_id is not None and KEY_ID.fullmatch(key_id) is None:
        raise click.UsageError("`--key-id` has 1 to 128 characters out of letters, digits and `._~-`.")


def _bearer_key(name: str | None) -> str | None:
    if name is None:
        return None
    key = os.environ.get(name)
    if not key:
        raise click.UsageError(f"the environment variable `{name}` is not set: it should hold the host's bearer key.")
    if not key.isascii() or not key.isprintable():
        raise click.UsageError(f"the environment variable `{name}` holds characters that no bearer key has.")
    return key


def _check_remote(address: Address, remote: bool, start: str | None) -> None:
    if address.is_loopback or remote:
        return
    what = "is not on this machine, where `--start` starts one" if start is not None else "is not on this machine"
    raise click.UsageError(
        f"`{address.url}` {what}: the exercises kill processes of the host; `--remote` says that this is meant."
    )


def _listen_address(text: str | None) -> tuple[str, int]:
    if text is None:
        return "127.0.0.1", 0
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise click.UsageError("`--receiver` is ADDRESS:PORT, such as `0.0.0.0:8787`.")
    return host, int(port)


def _relaxation(text: str) -> Relaxation:
    from sim_runtime.qualify.bundle import Relaxation
    from sim_runtime.qualify.names import RELAXATION_LIFETIMES

    parts = text.split(":", 2)
    if len(parts) != 3 or not all(parts) or parts[1] not in RELAXATION_LIFETIMES:
        lifetimes = ", ".join(RELAXATION_LIFETIMES)
        raise click.UsageError(f"`--relaxation` is OBLIGATION:LIFETIME:REASON with one of the lifetimes {lifetimes}.")
    return Relaxation(*parts)


def _check_writable(path: Path) -> None:
    """Before the exercises, which take minutes."""
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise click.ClickException(f"cannot write `{path}`: its folder is missing or closed, or it is a folder itself.")


def _progress(row: Row, seconds: float) -> None:
    note(f"{row.id}: {row.result} ({seconds:.1f} s)")


def _write(result: Result, key: SigningKey, key_id: str | None, path: Path) -> bool:
    """Write the bundle; nothing is written when there is nothing to attest, or when it would not hold."""
    from sim_runtime.qualify.harness import write_bundle
    from sim_runtime.qualify.verify import REJECTED, UNATTRIBUTED, Expected, verify_text

    bundle = write_bundle(result, key, key_id)
    if bundle is None:
        note("no bundle was written: no row asserted anything, so there is nothing to attest")
        return False
    data = _as_json(bundle).encode()
    verdict = verify_text(data, Expected(discovery=result.discovery.document))
    if verdict.outcome == REJECTED:
        reasons = "; ".join(f"{each.name}: {each.message}" for each in verdict.refusals)
        note(f"no bundle was written, for readers would reject it: {reasons}")
        return False
    if any(each.name == UNATTRIBUTED for each in verdict.refusals):
        entry = json.dumps(key.published(bundle["signature"]["keyId"]))
        note(f"the host does not publish the signing key: add {entry} to `signingKeys` of its discovery")
    waiting = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        waiting.write_bytes(data)
        waiting.replace(path)
    except OSError as error:
        waiting.unlink(missing_ok=True)
        raise click.ClickException(f"cannot write `{path}`: {error.strerror or error}") from None
    return True


def _report(request: Request, result: Result, written: Path | None, output_format: str, *, wanted: bool) -> int:
    from sim_runtime.qualify.harness import as_report

    if output_format == "json":
        write_result(_as_json({**as_report(result, written), "url": request.address.url}))
    else:
        write_result(_result_text(result, written))
    return EXIT_OK if result.passed and (written is not None or not wanted) else EXIT_FINDINGS


def _result_text(result: Result, written: Path | None) -> str:
    from analyzer.report.common import printable

    width = max(len(row.id) for row in result.all_rows)
    lines = [f"{row.id:{width}}  {row.result:13}  {_told(row)}".rstrip() for row in result.all_rows]
    lines.append(f"deaths seen: {result.deaths}")
    lines.extend(f"relaxed: {each.obligation} ({each.reason})" for each in result.host.relaxations)
    lines.extend(f"remark: {each}" for each in result.remarks)
    lines.append(f"rung: {result.earned or 'none'} (asked for: {result.asked})")
    if written is not None:
        lines.append(f"bundle: {written}")
    return "".join(f"{printable(line)}\n" for line in lines)


def _told(row: Row) -> str:
    recovery = (row.evidence or {}).get("recovery")
    if row.detail is not None or recovery is None:
        return row.detail or ""
    return f"{recovery['class']}: resumed after {recovery['observedMs']} ms of {recovery['boundMs']} ms"


@qualify.command(
    "verify",
    cls=VerifyCommand,
    help=(
        "Judge an evidence BUNDLE: is it coherent, is it the host's, and which rung follows.\n\n"
        "The exit status is 0 when it is verified, 1 rejected, 2 coherent but unverified, 3 not a bundle, and 64 when "
        "the call cannot be carried out."
    ),
)
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--discovery", metavar="FILE|URL", help="The host's discovery document, which publishes its keys.")
@click.option(
    "--verifier-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The public key of an independent verifier.",
)
@click.option("--build", metavar="KIND:ID", help="Refuse a bundle about another build.")
@click.option("--major", type=click.Choice(("1", "2")), help="Refuse a bundle for another major version.")
@format_option("text", "json", name="output_format")
def verify(
    bundle: Path,
    discovery: str | None,
    verifier_key: Path | None,
    build: str | None,
    major: str | None,
    output_format: str,
) -> int:
    """Judge an evidence bundle."""
    from sim_runtime.qualify.names import MAX_BUNDLE_BYTES
    from sim_runtime.qualify.profiles import Refusal
    from sim_runtime.qualify.verify import EXIT_CODES, NOT_A_BUNDLE, Verdict, verify_text

    expected = _expected(discovery, verifier_key, build, major)
    try:
        data = _read_bounded(bundle, MAX_BUNDLE_BYTES)
    except OSError as error:
        reason = f"cannot read `{bundle}`: {error.strerror or error}"
        verdict = Verdict(NOT_A_BUNDLE, None, (Refusal("not-json", reason),))
    else:
        verdict = verify_text(data, expected)
    write_result(_as_json(verdict.as_json()) if output_format == "json" else _verdict_text(bundle, verdict))
    return EXIT_CODES[verdict.outcome]


def _read_bounded(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(0, f"it is larger than {limit} bytes")
    return data


def _expected(discovery: str | None, verifier_key: Path | None, build: str | None, major: str | None) -> Expected:
    from sim_runtime.qualify.keys import KeyProblem, read_public_key
    from sim_runtime.qualify.verify import Expected

    try:
        key = None if verifier_key is None else read_public_key(verifier_key)
    except KeyProblem as error:
        raise click.UsageError(str(error)) from None
    return Expected(
        discovery=None if discovery is None else _discovery_document(discovery),
        verifier_key=key,
        build=None if build is None else _build(build),
        major=None if major is None else int(major),
    )


def _build(text: str) -> tuple[str, str]:
    from sim_runtime.qualify.names import BUILD_KINDS

    kind, _, name = text.partition(":")
    if kind not in BUILD_KINDS or not name:
        raise click.UsageError(f"`--build` is KIND:ID with one of the kinds {', '.join(BUILD_KINDS)}.")
    return kind, name


def _discovery_document(source: str) -> dict[str, Any] | None:
    """The document; nothing, with a line about it, when its host does not answer."""
    from sim_runtime.qualify.client import BadAddress, TransportLoss, read_discovery
    from sim_runtime.qualify.ijson import NotIJson, NotJson, read_ijson
    from sim_runtime.qualify.names import MAX_DISCOVERY_BYTES

    is_url = source.startswith(("http://", "https://"))
    try:
        if is_url:
            status, data = read_discovery(source)
            if status != 200:
                note(f"the discovery document was not read: `{source}` answered {status}")
                return None
        else:
            data = _read_bounded(Path(source), MAX_DISCOVERY_BYTES)
        document = read_ijson(data)
    except TransportLoss as error:
        note(f"the discovery document was not read: {error}")
        return None
    except BadAddress as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"cannot read `{source}`: {error.strerror or error}") from None
    except (NotJson, NotIJson) as error:
        raise click.UsageError(f"`{source}` is not a discovery document: {error}") from None
    if not isinstance(document, dict):
        raise click.UsageError(f"`{source}` is not a discovery document: it is not a JSON object.")
    return document


def _as_json(report: MutableMapping[str, Any]) -> str:
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _verdict_text(path: Path, verdict: Verdict) -> str:
    from analyzer.report.common import printable

    words = {
        "verified": "verified",
        "rejected": "rejected",
        "coherent": "coherent but unverified",
        "not-a-bundle": "not a bundle",
    }
    lines = [f"{path}: {words[verdict.outcome]}", f"rung: {verdict.rung or 'none'}"]
    for each in verdict.refusals:
        about = f" ({each.profile})" if each.profile is not None else ""
        lines.append(f"  {each.name}{about}: {each.message}")
    lines.extend(f"  unverified: {gap}" for gap in verdict.gaps)
    return "".join(f"{printable(line)}\n" for line in lines)


@qualify.command("keygen")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key-id", metavar="ID", help="The name under which the host publishes the key.")
def keygen(file: Path, key_id: str | None) -> int:
    """Make an Ed25519 signing key in a new FILE.

    The entry for the host's `signingKeys` is printed.
    """
    from sim_runtime.qualify.keys import KeyProblem, write_new_key

    _check_key_id(key_id)
    try:
        key = write_new_key(file)
    except KeyProblem as error:
        raise click.ClickException(str(error)) from None
    note(f"wrote {file}, readable for its owner only")
    write_result(json.dumps(key.published(key_id or key.default_id())) + "\n")
    return EXIT_OK
