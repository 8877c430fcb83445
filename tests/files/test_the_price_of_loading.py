"""The file, search and web tools load nothing heavy until they need it."""

from __future__ import annotations

import subprocess
import sys

from support.desk import NAMES

HEAVY = ("PIL", "pypdf", "httpx", "bs4", "markdownify", "charset_normalizer", "ddgs", "idna")


def test_loading_the_tools_imports_no_reader_of_images_pages_or_networks():
    script = (
        "import sys\nfrom cosh_tools.registry import load\n"
        f"for name in {(*NAMES, 'read_file', 'write_file', 'edit', 'grep')!r}: load(name).to_definition()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_the_built_in_search_starts_with_the_standard_library_alone():
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\nimport cosh_tools.search.worker\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules if 'site-packages' in "
        "str(getattr(sys.modules[name], '__file__', ''))}))\nprint('pydantic' in sys.modules, 'asyncio' in sys.modules)"
    )
    import cosh_tools

    folder = next(iter(cosh_tools.__path__)).rpartition("/")[0]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, folder], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["[]", "False False"]
