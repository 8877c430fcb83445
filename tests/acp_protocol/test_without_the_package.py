"""`cosh-nb acp` where its package is not installed."""

from __future__ import annotations

import subprocess
import sys


def test_it_says_how_to_get_it(tmp_path):
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'acp' else find(name, *rest)\n"
        "from cosh_nb.acp import main; sys.exit(main([]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, timeout=60, check=False)

    assert done.returncode == 2
    assert b'pip install "cosh-nb[acp]"' in done.stderr
