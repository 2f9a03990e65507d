"""Configuration: ``workfile.toml``, or ``[tool.workfile]`` of ``pyproject.toml`` (language page, sections 1 and 8).

The nearest one upwards from a file counts; in one folder ``workfile.toml`` comes before ``pyproject.toml``, and a
``pyproject.toml`` without the table is passed over. Decisions:

- Every target is a Core target: ``core`` may be left out of ``profiles``. ``replay`` without ``durable`` is an error:
  an implementation that claims the Replay Profile must claim the Durable Execution Profile.
- A bad configuration is never half used: one error says what is wrong and what to do.
"""

# Paths are plain text here, as everywhere in the workspace: building path objects costs more than the work itself.
# ruff: noqa: PTH100, PTH110, PTH112, PTH113, PTH118, PTH119, PTH120, PTH123

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from analyzer.language.suggest import hint
from analyzer.language.vocabulary import NAME, PROFILES, TRIGGER_SOURCES
from analyzer.shown import relative_path, shown_path

CONFIG_NAME: Final = "workfile.toml"
PYPROJECT_NAME: Final = "pyproject.toml"
PYPROJECT_PREFIX: Final = "tool.workfile."
MAX_CONFIG_BYTES: Final = 1024 * 1024
MAX_LEVELS: Final = 256
MAX_BESIDE: Final = 1000

_ROOT_KEYS: Final = ("connections", "connectors", "target", "check")
_CHECK_KEYS: Final = ("select", "ignore", "exclude", "per-file-ignores")


class ConfigError(Exception):
    """A configuration that cannot be used; the text is one line: file, place, what is wrong, what to do.

    ``path`` is the file's, "" for a fault that is not of a file.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{shown_path(path)}: {message}" if path else message)
        self.path = path


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """The connections that the deployment has for one connector, and the one that is used when none is named.

    ``urls`` are pairs of connection and URL; only ``workfile host`` reads them.
    """

    names: tuple[str, ...]
    default: str | None = None
    urls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """What the deployment can do: the profiles that it claims, the kinds of triggers that it serves."""

    profiles: tuple[str, ...] = PROFILES
    triggers: tuple[str, ...] = TRIGGER_SOURCES


@dataclass(frozen=True, slots=True)
class CheckConfig:
    """What ``workfile check`` reports; ``exclude`` are globs of files that a search passes over."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """One configuration. ``path`` is its file's and ``root`` its folder's absolute path, None without a file.

    ``connectors`` are absolute folders. ``fingerprint`` is a digest of everything that the configuration says.
    """

    path: str | None = None
    root: str | None = None
    connections: Mapping[str, ConnectionConfig] = field(default_factory=dict)
    connectors: tuple[str, ...] = ()
    target: TargetConfig = TargetConfig()
    check: CheckConfig = CheckConfig()
    fingerprint: str = "none"

    def missing_folders(self) -> tuple[str, ...]:
        """In one line each which of ``connectors`` are not there: else every use of a connector would be unknown, and
        nothing would say why."""
        return tuple(self._missing(folder) for folder in self.connectors if not os.path.isdir(folder))

    def _missing(self, folder: str) -> str:
        path, root = self.path or "", self.root or ""
        named = relative_path(folder, root)
        key = f"{PYPROJECT_PREFIX if os.path.basename(path) == PYPROJECT_NAME else ''}connectors"
        what = "which is not a folder" if os.path.exists(folder) else "and there is no such folder"
        advice = hint(named, _folders_beside(folder, root)) or " Correct it, or make the folder."
        return str(ConfigError(f"`{key}` names `{named}`, {what}.{advice}", path))


def find_config(folder: str) -> str | None:
    """The configuration file for the files of ``folder``: the nearest upwards, or None.

    Raises ``ConfigError`` for a ``pyproject.toml`` on the way that is no TOML and seems to have the table.
    """
    current = os.path.abspath(folder)
    for _ in range(MAX_LEVELS):
        found = config_in(current)
        if found is not None:
            return found
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent
    return None


def config_in(folder: str) -> str | None:
    """The configuration file that stands in ``folder`` itself, or None."""
    own = os.path.join(folder, CONFIG_NAME)
    if os.path.isfile(own):
        return own
    shared = os.path.join(folder, PYPROJECT_NAME)
    if os.path.isfile(shared) and _has_table(shared):
        return shared
    return None


def _has_table(path: str) -> bool:
    import tomllib  # slow to import, and most files have no configuration to read

    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_CONFIG_BYTES + 1)
    except OSError:
        return False  # somebody else's file: its trouble is not ours
    if len(data) > MAX_CONFIG_BYTES or b"workfile" not in data:
        return False
    try:
        table = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        if b"[tool.workfile" in data:
            raise ConfigError("this is not TOML, so `[tool.workfile]` cannot be read; correct it", path) from None
        return False
    tool = table.get("tool")
    return isinstance(tool, dict) and "workfile" in tool


def load_config(path: str) -> Config:
    """The configuration of a file. Raises ``ConfigError``."""
    import tomllib

    path = os.path.abspath(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"it cannot be read ({error.strerror or error}); check its permissions", path) from None
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(f"it is larger than {MAX_CONFIG_BYTES:,} bytes; keep only the settings in it", path)
    try:
        table: Any = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError("it is not UTF-8; save it as UTF-8", path) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"it is not TOML ({error}); correct it", path) from None
    except RecursionError:
        raise ConfigError("it is nested too deeply; flatten it", path) from None
    prefix = ""
    if os.path.basename(path) == PYPROJECT_NAME:
        table, prefix = table["tool"]["workfile"], PYPROJECT_PREFIX
    return read_config(table, path, prefix)


def read_config(table: Any, path: str, prefix: str = "") -> Config:
    """The configuration of a parsed table; ``prefix`` stands before keys in errors. Raises ``ConfigError``."""
    reader = _Reader(path, prefix)
    root = os.path.dirname(path)
    table = reader.table(table, "", _ROOT_KEYS)
    folders = reader.strings(table, "connectors", "")
    target = reader.table(table.get("target", {}), "target", ("profiles", "triggers"))
    return Config(
        path=path,
        root=root,
        connections=reader.connections(table.get("connections", {})),
        connectors=tuple(dict.fromkeys(os.path.normpath(os.path.join(root, each)) for each in folders)),
        target=TargetConfig(reader.profiles(target), reader.triggers(target)),
        check=reader.check(table.get("check", {})),
        fingerprint=hashlib.sha256(json.dumps(table, sort_keys=True, default=str).encode()).hexdigest(),
    )


def _folders_beside(folder: str, root: str) -> list[str]:
    """The folders that one of this name may have been meant for, relative to the root."""
    try:
        with os.scandir(os.path.dirname(folder)) as entries:
            return sorted(relative_path(each.path, root) for each in islice(entries, MAX_BESIDE) if each.is_dir())
    except OSError:
        return []


def parse_profiles(names: Iterable[str]) -> tuple[str, ...]:
    """The profiles that a target claims, in the order of ``PROFILES``, ``core`` always among them.

    Raises ``ConfigError`` with what is wrong: an unknown profile, ``replay`` without ``durable``.
    """
    wanted = list(names)
    for name in wanted:
        if name not in PROFILES:
            listed = ", ".join(f"`{each}`" for each in PROFILES)
            raise ConfigError(f"`{name}` is not a profile; use {listed}.{hint(name, PROFILES)}")
    if "replay" in wanted and "durable" not in wanted:
        raise ConfigError("`replay` needs `durable`: who claims the Replay Profile must claim the Durable one; add it")
    return tuple(each for each in PROFILES if each == "core" or each in wanted)


class _Reader:
    """Reads tables of one configuration; the first fault ends it with a ``ConfigError``."""

    __slots__ = ("path", "prefix")

    def __init__(self, path: str, prefix: str) -> None:
        self.path = path
        self.prefix = prefix

    def fail(self, key: str, message: str) -> ConfigError:
        return ConfigError(f"`{self.full(key)}` {message}", self.path)

    def full(self, key: str) -> str:
        """A key as it stands in the file; "" is the table that holds all of the configuration."""
        return f"{self.prefix}{key}".rstrip(".")

    def table(self, value: Any, name: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
        """The value when it is a table, ``name`` "" for the outermost; without ``known`` its keys are the author's."""
        if not isinstance(value, dict):
            raise self.fail(name, f"must be a table, but is {_kind(value)}; write `[{self.full(name)}]`")
        for key in value if known else ():
            if key not in known:
                where = f"{name}.{key}" if name in _ROOT_KEYS or "." in name else key
                raise self.fail(where, f"is not a setting.{_advice(key, name, known)}")
        return value

    def strings(self, table: dict[str, Any], key: str, inside: str) -> tuple[str, ...]:
        if key not in table:
            return ()
        value = table[key]
        name = f"{inside}.{key}" if inside else key
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            found = "a list with other things in it" if isinstance(value, list) else _kind(value)
            raise self.fail(name, f'must be a list of strings, but is {found}; write it as `{key} = ["…"]`')
        return tuple(dict.fromkeys(value))

    def connections(self, value: Any) -> dict[str, ConnectionConfig]:
        found: dict[str, ConnectionConfig] = {}
        for connector, each in self.table(value, "connections").items():
            place = f"connections.{connector}"
            if not NAME.match(connector):
                raise self.fail(place, "is not a connector's name; use lower-case letters, digits, `_` and `-`")
            table = self.table(each, place, ("names", "default", "url", "urls"))
            names = self.strings(table, "names", place)
            urls = self.urls(table, place)
            if not names:
                names = tuple(dict.fromkeys(urls)) or (("default",) if "url" in table else ())
            default = table.get("default")
            if default is not None and not isinstance(default, str):
                raise self.fail(f"{place}.default", f"must be a string, but is {_kind(default)}; name one of `names`")
            if not names:
                raise self.fail(place, 'lists no connections; add `names = ["…"]`, or remove the table')
            if default is not None and default not in names:
                raise self.fail(
                    f"{place}.default", f"is `{default}`, which is not among `names`.{_near(default, names)}"
                )
            if "url" in table:
                urls = {**dict.fromkeys(names, self.url(table["url"], f"{place}.url")), **urls}
            for name in urls:
                if name not in names:
                    raise self.fail(f"{place}.urls.{name}", f"is not among `names`.{_near(name, names)}")
            found[connector] = ConnectionConfig(names, default, tuple(urls.items()))
        return found

    def urls(self, table: dict[str, Any], place: str) -> dict[str, str]:
        """The URLs of connections by name."""
        if "urls" not in table:
            return {}
        listed = self.table(table["urls"], f"{place}.urls")
        return {name: self.url(each, f"{place}.urls.{name}") for name, each in listed.items()}

    def url(self, value: Any, place: str) -> str:
        if not isinstance(value, str) or not value.startswith(("http://", "https://")):
            raise self.fail(place, "must be an http or https URL, such as `https://payments.example/actions`")
        return value

    def profiles(self, target: dict[str, Any]) -> tuple[str, ...]:
        if "profiles" not in target:
            return PROFILES
        try:
            return parse_profiles(self.strings(target, "profiles", "target"))
        except ConfigError as error:
            if error.path:
                raise
            raise self.fail("target.profiles", f"is wrong: {error}") from None

    def triggers(self, target: dict[str, Any]) -> tuple[str, ...]:
        if "triggers" not in target:
            return TRIGGER_SOURCES
        names = self.strings(target, "triggers", "target")
        for name in names:
            if name not in TRIGGER_SOURCES:
                raise self.fail(
                    "target.triggers", f"has `{name}`, which is not a kind of trigger.{_near(name, TRIGGER_SOURCES)}"
                )
        return tuple(each for each in TRIGGER_SOURCES if each in names)

    def check(self, value: Any) -> CheckConfig:
        table = self.table(value, "check", _CHECK_KEYS)
        ignores = self.table(table.get("per-file-ignores", {}), "check.per-file-ignores")
        return CheckConfig(
            self.strings(table, "select", "check"),
            self.strings(table, "ignore", "check"),
            self.strings(table, "exclude", "check"),
            {pattern: self.strings(ignores, pattern, "check.per-file-ignores") for pattern in ignores},
        )


def _advice(key: str, place: str, known: tuple[str, ...]) -> str:
    near = hint(key, known)
    if near:
        return near
    if key in _ROOT_KEYS and place:
        return f" In TOML it belongs to the table above it: move `{key}` above the first table."
    return f" Use {', '.join(f'`{each}`' for each in known)}."


def _near(name: str, known: Iterable[str]) -> str:
    options = tuple(known)
    return hint(name, options) or f" Use {', '.join(f'`{each}`' for each in options)}."


def _kind(value: Any) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")
