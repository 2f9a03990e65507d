"""``python -m workfile_cli`` is the same program as ``workfile``."""

from __future__ import annotations

import sys

from workfile_cli.main import main

sys.exit(main())
