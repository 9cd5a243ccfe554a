"""Record which homes the tests of the papers run, for the table of equations: `make homes` calls it and writes `docs/papers/ran.json`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from measure.homes import record

if __name__ == "__main__":
    sys.exit(record(sys.argv[1:]))
