"""Skills and commands that people wrote: where they are found, which wins, and what a call of one says.

Nearer wins, and a skill wins over a command of its name: the folder's `.claude/skills/<name>/SKILL.md` and
`.claude/commands/**/*.md` (a nested one is `folder:name`), then the user's own, then those of extensions. A folder
that is not trusted contributes plain skills only: none that runs commands or brings hooks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosh_nb import frontmatter
from cosh_nb.paths import claude_folder
from cosh_tools.meta.skill import COMMAND
from cosh_tools.results import ToolResult

_WORD = re.compile(r"\$ARGUMENTS\[(\d+)\]|\$([1-9])(?!\d)|\$ARGUMENTS\b")
_NAME = re.compile(r"[\w.-]+(?::[\w.-]+)*")


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. `level` is "project", "user" or an extension's name."""

    name: str
    description: str
    file: Path
    level: str
    body: str
    allowed_tools: tuple[str, ...] | None = None
    for_model: bool = True
    for_person: bool = True
    hint: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """Shell commands whose output goes into the text."""
        return tuple(COMMAND.findall(self.body))


@dataclass
class Skills:
    """The skills of one workspace (hosts.SkillHost). Files are read anew at each `refresh`."""

    workspace: Path
    trusted: bool = False
    extensions: Sequence[tuple[str, Path]] = ()
    """Name and skill folder of each extension."""
    session_id: str = ""
    problems: list[str] = field(default_factory=list)
    _found: dict[str, Skill] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        """Read all folders again."""
        self.problems.clear()
        self._found = {}
        for level, folder, kind in self._places():
            for name, file in _files(folder, kind):
                if name in self._found:
                    continue
                skill = self._read(name, file, level)
                if skill is not None:
                    self._found[name] = skill

    def names(self) -> Sequence[tuple[str, str]]:
        """Name and description of each that the model may use."""
        return tuple((skill.name, skill.description) for skill in self.all() if skill.for_model)

    def all(self) -> list[Skill]:
        """Every skill, by name."""
        return [self._found[name] for name in sorted(self._found)]

    def get(self, name: str) -> Skill | None:
        """The skill of that name; `.md` at its end is ignored. A name never reaches the disk."""
        return self._found.get(name.strip().removeprefix("/").removesuffix(".md"))

    def load(self, name: str, arguments: str) -> ToolResult:
        """The skill's text with its arguments; metadata: "commands" to run, "allowed_tools", "folder", "level"."""
        skill = self.get(name)
        if skill is None:
            shown = name if _NAME.fullmatch(name) and len(name) <= 80 else "of that name"
            return ToolResult.error(f'There is no skill {shown}. Use the skill name "list" to see what exists.')
        text = filled(skill.body, arguments, self.workspace, skill.file.parent, self.session_id)
        if not text.strip():
            return ToolResult.error(f"The skill {skill.name} is empty. Tell the user to fill {skill.file}.")
        facts: dict[str, Any] = {
            "skill": skill.name,
            "level": skill.level,
            "folder": str(skill.file.parent),
            "commands": [*COMMAND.findall(text)],
            "allowed_tools": None if skill.allowed_tools is None else list(skill.allowed_tools),
            "for_model": skill.for_model,
        }
        return ToolResult.success(text).with_metadata(facts)

    def _places(self) -> Iterator[tuple[str, Path, str]]:
        project = self.workspace / ".claude"
        if project.resolve() != claude_folder().resolve():
            yield "project", project / "skills", "skill"
            yield "project", project / "commands", "command"
            yield "project", self.workspace / ".copilot-shell" / "skills", "skill"
        yield "user", claude_folder() / "skills", "skill"
        yield "user", claude_folder() / "commands", "command"
        yield "user", Path.home() / ".copilot-shell" / "skills", "skill"
        for name, folder in self.extensions:
            yield name, folder, "skill"

    def _read(self, name: str, file: Path, level: str) -> Skill | None:
        try:
            document = frontmatter.read(file)
        except (OSError, ValueError) as error:
            self.problems.append(f"The skill {name} was left out: {error}")
            return None
        if document.problem:
            self.problems.append(f"{file}: {document.problem}. Its text is used without it.")
        meta = document.meta
        skill = Skill(
            name=name,
            description=_description(meta, document.body),
            file=file,
            level=level,
            body=document.body,
            allowed_tools=frontmatter.names(meta.get("allowed-tools", meta.get("allowedTools"))),
            for_model=meta.get("disable-model-invocation") is not True,
            for_person=meta.get("user-invocable") is not False,
            hint=str(meta.get("argument-hint") or ""),
        )
        if level == "project" and not self.trusted and (skill.commands or "hooks" in meta):
            what = "runs commands" if skill.commands else "brings hooks"
            self.problems.append(f"The skill {name} {what}, and this folder is not trusted: it was left out.")
            return None
        return skill


def filled(body: str, arguments: str, workspace: Path, folder: Path, session_id: str = "") -> str:
    """The body with `$ARGUMENTS`, `$ARGUMENTS[n]` (from 0), `$1` to `$9` and the variables of a skill filled in.

    Arguments that no placeholder takes are added at the end. They may fill a command of the skill; what they hold
    never becomes a command of its own, because they may come from the model.
    """
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()

    def value(found: re.Match[str]) -> str:
        index = int(found[1]) if found[1] else int(found[2]) - 1 if found[2] else None
        if index is None:
            return arguments
        return words[index] if 0 <= index < len(words) else ""

    def inside(found: re.Match[str]) -> str:
        return value(found).replace("`", "'").replace("\n", " ")

    pieces, last = [], 0
    for command in COMMAND.finditer(body):
        pieces += [_calm(_WORD.sub(value, body[last : command.start()])), f"!`{_WORD.sub(inside, command[1])}`"]
        last = command.end()
    pieces.append(_calm(_WORD.sub(value, body[last:])))
    if arguments.strip() and not _WORD.search(body):
        pieces.append(f"\n\nARGUMENTS: {_calm(arguments)}")
    text = "".join(pieces)
    for name, what in (
        ("CLAUDE_SKILL_DIR", folder),
        ("CLAUDE_PROJECT_DIR", workspace),
        ("CLAUDE_SESSION_ID", session_id),
    ):
        text = text.replace(f"${{{name}}}", str(what))
    return text


def _calm(text: str) -> str:
    """Text in which no command begins."""
    return text.replace("!`", "! `")


def _files(folder: Path, kind: str) -> Iterator[tuple[str, Path]]:
    if not folder.is_dir():
        return
    if kind == "skill":
        for file in sorted(folder.rglob("SKILL.md")):
            yield ":".join(file.parent.relative_to(folder).parts) or folder.name, file
        for file in sorted(folder.glob("*.md")):
            if file.name != "SKILL.md":
                yield file.stem, file
        return
    for file in sorted(folder.rglob("*.md")):
        yield ":".join(file.relative_to(folder).with_suffix("").parts), file


def _description(meta: Any, body: str) -> str:
    said = meta.get("description")
    text = str(said) if said else next((line.strip("# ").strip() for line in body.splitlines() if line.strip()), "")
    return " ".join(text.split())[:250]
