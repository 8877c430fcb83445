"""What is loaded when: nothing heavy at import, httpx with the first request."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import cosh_nb.providers

HEAVY = {"httpx", "httpx_sse", "anthropic", "openai", "pydantic"}


def loaded_after(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in out.stdout.split()}


def test_choosing_and_building_loads_no_http_client() -> None:
    code = (
        "from cosh_nb.providers.choose import decide, build\n"
        "build(decide({'ANTHROPIC_API_KEY': 'k'}, {})); build(decide({'OPENAI_API_KEY': 'k'}, {}))"
    )
    assert not loaded_after(code) & HEAVY


def test_warming_loads_it() -> None:
    assert {"httpx", "httpx_sse"} <= loaded_after("from cosh_nb.providers.wire import warm; warm()")


def test_only_the_wire_imports_the_http_client() -> None:
    guilty = []
    for file in Path(cosh_nb.providers.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            if {name.partition(".")[0] for name in names} & {"httpx", "httpx_sse"} and file.name != "wire.py":
                guilty.append(file.name)
    assert guilty == []
