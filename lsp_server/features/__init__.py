"""One file a feature: plain functions over a snapshot and a place in it."""

from __future__ import annotations
