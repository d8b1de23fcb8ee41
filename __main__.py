"""The command line: `python -m untraced inspect FILE.py:FUNC --args "f32[128,64] f32[64]" --transform grad --target
triton`.
"""

from __future__ import annotations

import sys

from .runtime.inspection.commands import main

if __name__ == "__main__":
    sys.exit(main())
