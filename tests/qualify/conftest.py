"""The second rung's row (peer-resume) still races with the fake host's own restart, whatever the machine's load.

Its tests are left out until that is mended, so that a red run means something; ``WORKFILE_PEER_ROWS=1`` runs them.
"""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("WORKFILE_PEER_ROWS") else ["test_harness.py"]
