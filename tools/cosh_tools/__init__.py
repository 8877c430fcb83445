"""The tool system of cosh_nb: it knows no notebook, no model and no person.

all_tools()          the 33 built-in tools of cc-tools
find_tool(name)      one of them by its exact name
ToolRegistry         the tools of one session, with toolsets and aliases
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cosh_tools.contract import Tool
    from cosh_tools.registry import ToolRegistry

__all__ = ["ToolRegistry", "all_tools", "find_tool"]


def all_tools() -> list[Tool[Any]]:
    """The 33 built-in tools, by name."""
    from cosh_tools import registry

    return [registry.load(name) for name in sorted(registry.BUILT_IN)]


def find_tool(name: str) -> Tool[Any] | None:
    """The built-in tool of exactly this canonical name, or None."""
    from cosh_tools import registry

    return registry.load(name) if name in registry.BUILT_IN else None


def __getattr__(name: str) -> Any:
    """Load the registry (and pydantic with it) only when it is asked for."""
    if name == "ToolRegistry":
        from cosh_tools.registry import ToolRegistry

        return ToolRegistry
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
