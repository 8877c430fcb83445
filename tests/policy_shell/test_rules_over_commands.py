"""Rules, modes and grants over real command lines: deny holds for every part, allow must cover every part."""

from __future__ import annotations

from pathlib import Path

import pytest

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.gate import subject_of
from cosh_tools.kinds import PermissionMode
from cosh_tools.policy.decide import Allow, Ask, Decision, Deny, decide
from cosh_tools.policy.grants import offers
from cosh_tools.policy.rules import Rules, parse_rule
from cosh_tools.policy.shell import read
from cosh_tools.registry import load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("a")
    return tmp_path


def decided(
    command: str,
    folder: Path,
    allow: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    mode: PermissionMode = PermissionMode.DEFAULT,
) -> Decision:
    rules = Rules(
        deny=tuple(parse_rule(text, folder) for text in deny), allow=tuple(parse_rule(text, folder) for text in allow)
    )
    touches = read(command, ToolContext(SessionState(folder, folder)))
    return decide(subject_of(load("Bash"), "Bash"), touches, rules, mode)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x", "ls && rm x", "ls; (cd sub && rm x)", "echo $(rm x)", "sudo rm x", "bash -c 'ls; rm x'",
        "'r'm x", r"\rm x",
        "find . -exec rm {} +", "ls | xargs rm", "/bin/rm x", "env -i rm x", "if true; then rm x; fi",
        "cat <<E\n$(rm x)\nE\n",
        "f() { rm x; }; f", "timeout 3 nice rm x", "eval 'rm x'", "trap 'rm x' EXIT", "diff <(rm x) a.py",
    ],
)  # fmt: skip
def test_a_deny_rule_holds_for_every_part_in_every_mode(command: str, folder: Path):
    for mode in (PermissionMode.DEFAULT, PermissionMode.BYPASS, PermissionMode.TRUST, PermissionMode.AUTO):
        assert isinstance(decided(command, folder, deny=("Bash(rm:*)",), mode=mode), Deny)


@pytest.mark.parametrize(
    "command",
    ["git status && rm x", "git status; ls", "git status | sh", "git status > out", "git $(rm x)", "git status `rm x`",
     "git status &\nrm x", "git status || curl https://x.org", "git -c core.pager='!rm' status", "git status # x\nrm x",
     "PATH=/evil git status", "gitx status", "git diff --output=/etc/x", "cat ~/.ssh/id_rsa | git status"],
)  # fmt: skip
def test_an_allow_rule_covers_its_own_command_and_no_other(command: str, folder: Path):
    assert isinstance(decided(command, folder, allow=("Bash(git:*)",)), Ask)


@pytest.mark.parametrize(
    "command",
    [
        # git takes a shortened option for the whole one, and a letter among others, its value joined to it or not
        "git fetch --upload-pa='touch x' .", "git ls-remote --exe='touch x' .", "git push --rece='touch x' .",
        "git clone -qu 'touch x' . y", "git clone -ux . y", "git clone --conf core.fsmonitor=x . y",
        "git rebase --exe 'touch x'", "git rebase -ix 'touch x'", "git difftool -yx touch",
        "git grep --open='touch x' a", "git diff --ext-dif", "git config --unset-al x",
        "git init --templ=/tmp", "git remote add x ext::sh",
        "git archive -o/etc/x HEAD", "git log --outp=/etc/x", "git format-patch --output-d=/etc/x HEAD",
        "git commit -F/etc/shadow", "git clone --separate-git-d=/etc/y . y", "git clone -b main https://x.org/a /etc/y",
        "git worktree add -b x /etc/y",
        # `wait -p` evaluates an index
        "git status; sleep 0 & wait -n -p 'a[$(rm x)]'", "git status; wait -np 'a[$(rm x)]'",
    ],
)  # fmt: skip
def test_no_spelling_of_an_option_escapes_what_is_known_of_it(command: str, folder: Path):
    rules = ("Bash(git:*)", "WebFetch(domain:x.org)")
    assert isinstance(decided(command, folder, allow=rules), Ask)


@pytest.mark.parametrize(
    "command",
    [
        "make -f/etc/passwd", "pytest -c/etc/passwd", "tar xfC a.tar /etc", "tar xPf a.tar",
        "tar xf a.tar --one-top=/etc/x", "tar cf a.tar -g /etc/x sub", "tar cf a.tar --index-file=/etc/x sub",
        "awk -o/etc/x 1 a.py", "awk -E/etc/x a.py", "awk --exec=/etc/x", "awk --prof=/etc/x 1 a.py",
        "awk 'BEGIN{ARGV[1]=\"/etc/shadow\";ARGC=2}{print}'",
    ],
)  # fmt: skip
def test_a_path_outside_counts_however_its_option_is_written(command: str, folder: Path):
    assert isinstance(decided(command, folder, allow=(f"Bash({command.partition(' ')[0]}:*)",)), Ask)


@pytest.mark.parametrize(
    "command",
    ["git clone -q https://x.org/r", "git log --oneline -5", "git rebase --continue", "git fetch --tags --prune origin",
     "git push -u origin main", "git config --get user.name", "git diff --stat --exit-code", "git pull --rebase",
     "git remote -v", "git grep -n x", "git init -q", "git archive -o out.zip HEAD", "git commit -qm x; wait"],
)  # fmt: skip
def test_what_git_is_asked_for_every_day_stays_covered(command: str, folder: Path):
    rules = ("Bash(git:*)", "WebFetch(domain:x.org)")
    assert isinstance(decided(command, folder, allow=rules), Allow)


@pytest.mark.parametrize(
    "command",
    ["git status", "git status | head -3", "cd sub && git log --oneline | grep fix", "git diff -- a.py && git status",
     "git commit -m 'a && b'", "echo before; git status; true", "git mv a.py b.py"],
)  # fmt: skip
def test_a_covered_command_runs_with_its_harmless_neighbours(command: str, folder: Path):
    assert isinstance(decided(command, folder, allow=("Bash(git:*)",)), Allow)


def test_a_redirection_needs_its_own_rule(folder: Path):
    assert isinstance(decided("git log > out.txt", folder, allow=("Bash(git log:*)",)), Ask)
    assert isinstance(decided("git log > out.txt", folder, allow=("Bash(git log:*)", "Edit(out.txt)")), Allow)


def test_the_rule_of_a_command_covers_what_it_writes_inside_and_not_outside(folder: Path):
    assert isinstance(decided("mkdir -p sub/new", folder, allow=("Bash(mkdir:*)",)), Allow)
    assert isinstance(decided("mkdir /opt/new", folder, allow=("Bash(mkdir:*)",)), Ask)
    assert isinstance(decided("mkdir .git/new", folder, allow=("Bash(mkdir:*)",)), Ask)


def test_a_path_rule_holds_for_shell_commands_too(folder: Path):
    assert isinstance(decided("cat sub/x", folder, deny=("Read(./sub/**)",), mode=PermissionMode.BYPASS), Deny)
    assert isinstance(decided("echo 1 > sub/x", folder, deny=("Edit(./sub/**)",), mode=PermissionMode.BYPASS), Deny)
    assert isinstance(decided("cd sub; rm x", folder, deny=("Edit(./sub/**)",), mode=PermissionMode.BYPASS), Deny)


def test_an_exact_rule_means_exactly_that(folder: Path):
    assert isinstance(decided("npm test", folder, allow=("Bash(npm test)",)), Allow)
    assert isinstance(decided("npm test --x", folder, allow=("Bash(npm test)",)), Ask)


def test_plan_mode_runs_nothing(folder: Path):
    assert isinstance(decided("ls", folder, allow=("Bash",), mode=PermissionMode.PLAN), Deny)


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("npm test", ["Bash(npm test:*)"]),
        ("pytest -q | tail -3", ["Bash(pytest:*)"]),
        ("mkdir x", ["Bash(mkdir:*)"]),
        ("echo hi", ["Bash(echo:*)"]),
        ("python3.11 a.py", ["Bash(python3.11 a.py)"]),
        ("Rscript a.R", ["Bash(Rscript a.R)"]),
        ("rm -rf x", []),
        ("rm x", []),
        ("git push --force", []),
        ("ls $x", []),
        ("python -c 1", []),
    ],
)
def test_a_button_grants_what_its_command_begins_with_and_nothing_that_loses_data(
    command: str, rules: list[str], folder: Path
):
    touches = read(command, ToolContext(SessionState(folder, folder)))
    subject = subject_of(load("Bash"), "Bash")
    decision = decide(subject, touches, Rules(), PermissionMode.DEFAULT)
    assert isinstance(decision, Ask)
    grants = offers(subject, touches, decision, PermissionMode.DEFAULT, folder)
    assert sorted({rule.text for grant in grants for rule in grant.rules}) == rules


def test_a_given_grant_answers_the_same_command_next_time(folder: Path):
    for command in ("echo hi", "npm test", "mkdir x"):
        touches = read(command, ToolContext(SessionState(folder, folder)))
        subject = subject_of(load("Bash"), "Bash")
        decision = decide(subject, touches, Rules(), PermissionMode.DEFAULT)
        assert isinstance(decision, Ask)
        grant = offers(subject, touches, decision, PermissionMode.DEFAULT, folder)[0]
        assert isinstance(decide(subject, touches, Rules(allow=grant.rules), PermissionMode.DEFAULT), Allow), command
