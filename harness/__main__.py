"""`python -m harness`; from a folder that holds a `metrics` of its own, use `python -m dialogue_harness`."""

import sys

from dialogue_harness import main

sys.exit(main())
