"""`python -m cosh_nb` is the `cosh-nb` command."""

from __future__ import annotations

import sys

from cosh_nb.cli import main

sys.exit(main())
