"""The version of the distribution, in its one place: packaging, ``--version`` and the reports read it here."""

from __future__ import annotations

__version__ = "0.1.0"
