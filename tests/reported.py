"""Holding what a command prints as JSON to its published schema."""

from __future__ import annotations

from functools import cache

from jsonschema import Draft202012Validator

from workfile_cli import reports


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = reports.schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def check_report(name: str, report: object) -> None:
    """Fail unless a report fits the schema of that name."""
    faults = [f"{fault.json_path}: {fault.message[:300]}" for fault in _validator(name).iter_errors(report)]
    assert faults == []
