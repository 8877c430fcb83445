"""What a git command loses, writes and fetches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cosh_tools.policy.shell_effects import Effects, Inner, copy, options
from cosh_tools.policy.shell_words import Word

_HERE = Word(".")
_GIT_OWN = "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source"
_GIT_RUNS = ("-c", "--git-dir", "--work-tree", "--exec-path", "--config-env", "--namespace")


def git(args: Sequence[Word]) -> Effects:
    """The subcommand decides; `-C dir` moves it, `-c key=value` may make it run a program."""
    given = options(args, _GIT_OWN, stop_early=True)
    out = Effects()
    if given.has(*_GIT_RUNS):
        out.opaque.append("an option of git sets what programs it runs or which repository it uses")
    folders = given.values("-C")
    if not given.operands:
        return out
    if given.given:
        # Judged a second time in its plain form, where the rules about `git push` find it.
        cwd = folders[0] if len(folders) == 1 else Word(".", "several folders are given") if folders else None
        out.inner.append(Inner((Word("git"), *given.operands), cwd))
        return out
    said = _Said(given.operands[0].text, given.operands[1:])
    out.destructive = said.loses()
    out.opaque.extend(said.runs())
    said.places(out)
    return out


class _Said:
    """A git command without git's own options."""

    def __init__(self, verb: str, args: Sequence[Word]) -> None:
        self._verb = verb
        self._args = args
        self._words = [each.text for each in args]
        self._plain = [each for each in args if not each.text.startswith("-")]
        self._letters = "".join(text[1:] for text in self._words if re.fullmatch(r"-[A-Za-z]+", text))

    def _has(self, *options: str) -> bool:
        return any(text == option or text.startswith(f"{option}=") for text in self._words for option in options)

    def _letter(self, letters: str) -> bool:
        return any(letter in self._letters for letter in letters)

    def loses(self) -> bool:
        """Whether work or history is lost by it."""
        words, first = self._words, self._words[:1]
        match self._verb:
            case "push":
                forced = any(text.startswith(("--fo", "--mi", "--del", "--pru", "+", ":")) for text in words)
                return forced or self._letter("fd")
            case "reset":
                return any(text.startswith(("--har", "--mer", "--ke")) for text in words)
            case "clean":
                return not self._letter("n") and not self._has("--dry-run")
            case "checkout":
                return self._has("--", "--force", "--ours", "--theirs", ".") or self._letter("f")
            case "restore":
                return not self._has("--staged") and not self._letter("S")
            case "switch":
                return self._has("--force", "--discard-changes") or self._letter("f")
            case "rm":
                return self._letter("rf")
            case "branch" | "tag":
                return self._letter("Dd") or self._has("--delete", "--force")
            case "stash":
                return first in (["drop"], ["clear"])
            case "worktree":
                return first == ["remove"] and (self._has("--force") or self._letter("f"))
            case "reflog":
                return first in (["expire"], ["delete"])
            case "update-ref":
                return self._letter("d")
            case "gc":
                return self._has("--prune")
            case "filter-branch" | "filter-repo" | "replace":
                return True
            case _:
                return False

    def _may(self, *options: str) -> bool:
        """As `_has`, and also where git takes a word for one of them that is written otherwise.

        Shortened (`--upload-p`), or one of several letters (`-qu`), its value joined to it or not.
        """
        for text in self._words:
            name = text.partition("=")[0]
            for option in options:
                if option.startswith("--"):
                    if len(name) > 2 and option.startswith(name):
                        return True
                elif re.match(rf"-[A-Za-z]*{option[1:]}", text):
                    return True
        return False

    def runs(self) -> list[str]:
        """Why it may run programs that nobody named."""
        match self._verb:
            case "filter-branch" | "filter-repo" | "send-email" | "instaweb":
                return ["it runs commands of its own"]
            case "rebase" | "bisect" | "submodule" | "difftool" | "mergetool" | "am" | "daemon" | "hook" | "svn":
                own = self._may("-x", "-t", "--exec", "--extcmd", "--tool") or any(
                    re.match(r"run$|foreach$", text) for text in self._words
                )
                return ["it runs commands of its own"] if own else self._helper()
            case "clone" if self._may("--upload-pack", "-u", "--config", "-c", "--template"):
                return ["an option of git sets what programs it runs"]
            case "init" if self._may("--template"):
                return ["an option of git sets what programs it runs"]
            case "config" if len(self._plain) > 1 or self._may(
                "--unset", "--unset-all", "--add", "--edit", "-e", "--rename-section", "--replace-all"
            ):
                return ["it changes what git runs from now on"]
            case "ls-remote" | "fetch" | "pull" | "archive" | "fetch-pack" | "push":
                sets = self._may("--upload-pack", "--exec", "--remote", "--receive-pack")
                return ["an option of git sets what programs it runs"] if sets else self._helper()
            case "diff" | "log" | "show" | "grep" | "format-patch" | "blame" | "shortlog":
                shown = self._may("--ext-diff", "--textconv", "--open-files-in-pager")
                pager = self._verb == "grep" and self._may("-O")
                return ["an option of git runs a program"] if shown or pager else []
            case "clone" | "remote":
                return self._helper()
            case _:
                return []

    def _helper(self) -> list[str]:
        """An address such as `ext::sh -c ...` names a program that git runs to reach it."""
        helper = any("::" in text for text in self._words)
        return ["an address in it names a program that git runs"] if helper else []

    def places(self, out: Effects) -> None:
        """Which of its words are files, folders and addresses."""
        plain = self._plain
        # A value may be joined to its option: `-o/etc/x`, `--outp=/etc/x`.
        out.mentions.extend(each for each in self._args if each.text.startswith("-"))
        out.writes.extend(Word(text.partition("=")[2]) for text in self._words if text.startswith("--output="))
        match self._verb:
            case "clean":
                out.deletes.extend((plain or [_HERE]) if self.loses() else [])
            case "checkout":
                after = self._args[self._words.index("--") + 1 :] if "--" in self._words else []
                out.writes.extend(after or [each for each in plain if each.text == "."])
            case "restore":
                out.writes.extend(plain)
            case "rm":
                out.deletes.extend(plain)
            case "mv":
                copy(out, plain, [], moves=True)
            case "worktree":
                out.writes.extend(plain[1:2] if self._words[:1] in (["add"], ["remove"], ["move"]) else [])
                out.mentions.extend(plain[2:])  # where the first of them is the value of an option
            case "clone":
                out.fetches.extend(each for each in plain[:1] if ":" in each.text)
                out.writes.extend(plain[1:2] or [_HERE])
                out.mentions.extend(plain[2:])  # the same
            case "init":
                out.writes.extend(plain[:1] or [_HERE])
            case "ls-remote" | "fetch" | "pull" | "push":
                out.fetches.extend(each for each in plain[:1] if "://" in each.text)
            case "diff" if self._has("--no-index"):
                out.reads.extend(plain)
            case _:
                out.mentions.extend(plain)
