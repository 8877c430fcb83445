"""Worktrees of a real repository: made, worked in, kept, removed, and never removed with work in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest, Refused
from support.coordination_desk import CoordinationDesk


class Yes:
    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return Allowed()


class No(Yes):
    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return Refused("no")


def git(folder: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / "sub" / "b.txt").write_text("two\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


async def test_every_tool_that_follows_works_there_and_back_again(repository):
    desk = CoordinationDesk(repository)
    entered = await desk("EnterWorktree", branch="feature/x")
    place = repository / ".claude" / "worktrees" / "feature-x"
    assert str(place) in entered.content
    assert desk.ctx.working_dir == place
    assert entered.metadata["branch"] == "feature/x"
    await desk("Bash", command="pwd > where; git branch --show-current >> where")
    assert (place / "where").read_text() == f"{place}\nfeature/x\n"
    assert "one" in (await desk("Read", file_path="a.txt")).content
    await desk("Edit", file_path="a.txt", old_string="one", new_string="changed")
    assert (place / "a.txt").read_text() == "changed\n"
    assert (repository / "a.txt").read_text() == "one\n"
    left = await desk("ExitWorktree", action="keep")
    assert not left.is_error
    assert desk.ctx.working_dir == repository
    assert place.is_dir()
    assert "locked" in git(repository, "worktree", "list", "--porcelain")


async def test_the_worktree_is_an_allowed_root_and_asks_no_more_than_the_workspace(repository):
    from cosh_tools.kinds import PermissionMode

    desk = CoordinationDesk(repository, mode=PermissionMode.ACCEPT_EDITS)
    await desk("EnterWorktree", branch="x")
    assert not (await desk("Write", file_path="new.txt", content="x")).is_error
    assert desk.ctx.workspace == repository
    await desk("ExitWorktree", action="keep")
    assert desk.ctx.state.extra_roots == []


async def test_the_repository_s_own_status_stays_clean(repository):
    desk = CoordinationDesk(repository)
    await desk("EnterWorktree", branch="x")
    assert git(repository, "status", "--porcelain") == ""


async def test_a_name_is_given_where_none_is(repository):
    desk = CoordinationDesk(repository)
    entered = await desk("EnterWorktree")
    assert entered.metadata["branch"].startswith("cosh-20")


async def test_an_untouched_one_is_removed_with_its_branch(repository):
    desk = CoordinationDesk(repository)
    await desk("EnterWorktree", branch="x")
    left = await desk("ExitWorktree", action="remove")
    assert not left.is_error
    assert not (repository / ".claude" / "worktrees" / "x").exists()
    assert git(repository, "branch", "--list", "x") == ""
    assert git(repository, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ("echo new > new.txt", "1 changed or new file"),
        ("echo more >> a.txt; echo n > n; mkdir d; echo m > d/m", "3 changed or new files"),
        ("git rm -q a.txt", "1 changed or new file"),
        ("echo c > c; git add c; git -c user.name=t -c user.email=t@t commit -qm c", "1 commit of its own"),
    ],
)
async def test_work_that_is_nowhere_else_is_never_removed_without_being_asked(repository, work, words):
    desk = CoordinationDesk(repository, permission_handler=No())
    await desk("EnterWorktree", branch="x")
    await desk("Bash", command=work)
    place = desk.ctx.working_dir
    left = await desk("ExitWorktree", action="remove")
    assert left.is_error
    assert words in left.content
    assert place.is_dir()
    assert desk.ctx.working_dir == place
    assert (await desk("ExitWorktree", action="remove", discard_changes=True)).is_error is False
    assert not place.exists()


async def test_throwing_work_away_asks_a_person(repository):
    from cosh_tools.kinds import PermissionMode

    no = No()
    desk = CoordinationDesk(repository, mode=PermissionMode.DEFAULT, permission_handler=no)
    await desk("EnterWorktree", branch="x")
    desk.ctx.working_dir.joinpath("new.txt").write_text("x")
    left = await desk("ExitWorktree", action="remove", discard_changes=True)
    assert left.is_error
    assert [request.call.name for request in no.asked] == ["ExitWorktree"]
    assert desk.ctx.working_dir.joinpath("new.txt").exists()


async def test_where_git_fails_there_may_be_work(repository):
    desk = CoordinationDesk(repository)
    await desk("EnterWorktree", branch="x")
    (desk.ctx.working_dir / ".git").write_text("broken")
    left = await desk("ExitWorktree", action="remove")
    assert left.is_error
    assert "git could not say what is in it" in left.content
    assert desk.ctx.working_dir.is_dir()


async def test_one_at_a_time_and_none_to_leave(repository):
    desk = CoordinationDesk(repository)
    assert (await desk("ExitWorktree", action="keep")).content.startswith("No-op: ")
    await desk("EnterWorktree", branch="x")
    assert "Already in a worktree session" in (await desk("EnterWorktree", branch="y")).content


@pytest.mark.parametrize("name", ["../x", "a b", "x..y", "-x/../y", "x.lock", "a//b", "x/"])
async def test_a_name_that_is_no_branch_is_refused(repository, name):
    assert (await CoordinationDesk(repository)("EnterWorktree", branch=name)).is_error
    assert not (repository / ".claude").exists()


async def test_what_is_in_the_way_is_said(repository, tmp_path):
    git(repository, "branch", "taken")
    desk = CoordinationDesk(repository)
    assert "exists already" in (await desk("EnterWorktree", branch="taken")).content
    (repository / ".claude" / "worktrees" / "there").mkdir(parents=True)
    assert "exists already" in (await desk("EnterWorktree", branch="there")).content
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "not in a git repository" in (await CoordinationDesk(plain)("EnterWorktree", branch="x")).content
    git(plain, "init", "-q")
    assert "no commit yet" in (await CoordinationDesk(plain)("EnterWorktree", branch="x")).content


async def test_a_setup_command_goes_through_the_gate_and_runs_there(repository):
    from cosh_tools.kinds import PermissionMode

    yes = Yes()
    desk = CoordinationDesk(repository, mode=PermissionMode.DEFAULT, permission_handler=yes)
    entered = await desk("EnterWorktree", branch="x", post_create_command="pwd > made; echo ready")
    assert [request.call.name for request in yes.asked] == ["EnterWorktree"]
    assert "The setup command went well.\nready" in entered.content
    assert (desk.ctx.working_dir / "made").read_text() == f"{desk.ctx.working_dir}\n"


async def test_a_refused_setup_command_makes_no_worktree(repository):
    from cosh_tools.kinds import PermissionMode

    desk = CoordinationDesk(repository, mode=PermissionMode.DEFAULT, permission_handler=No())
    assert (await desk("EnterWorktree", branch="x", setup_command="touch y")).is_error
    assert not (repository / ".claude").exists()


async def test_a_deny_rule_holds_for_the_setup_command(repository):
    desk = CoordinationDesk(repository, deny=("Bash(rm:*)",), permission_handler=Yes())
    result = await desk("EnterWorktree", branch="x", setup_command="ls && rm -rf a.txt")
    assert result.is_error
    assert "Bash(rm:*)" in result.content


async def test_a_failing_setup_command_is_said_and_the_worktree_stays(repository):
    desk = CoordinationDesk(repository)
    entered = await desk("EnterWorktree", branch="x", setup_command="echo no >&2; exit 3")
    assert "FAILED (exit code 3)" in entered.content
    assert desk.ctx.working_dir.name == "x"


async def test_a_place_outside_asks(repository, tmp_path):
    from cosh_tools.kinds import PermissionMode

    no = No()
    desk = CoordinationDesk(repository, mode=PermissionMode.DEFAULT, permission_handler=no)
    assert (await desk("EnterWorktree", branch="x", path=str(tmp_path / "out"))).is_error
    assert len(no.asked) == 1


async def test_the_hooks_of_the_repository_do_not_run(repository):
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ntouch "$GIT_DIR/../../../ran" /tmp/never-$$; exit 1\n')
    hook.chmod(0o755)
    desk = CoordinationDesk(repository)
    assert not (await desk("EnterWorktree", branch="x")).is_error


async def test_a_folder_below_the_top_comes_back_to_where_it_was(repository):
    desk = CoordinationDesk(repository)
    await desk("Bash", command="cd sub")
    await desk("EnterWorktree", branch="x")
    await desk("ExitWorktree", action="remove")
    assert desk.ctx.working_dir == repository / "sub"


async def test_the_kernel_s_own_folder_is_said(repository):
    class Kernel:
        def cwd(self) -> Path:
            return repository

    desk = CoordinationDesk(repository, kernel=Kernel())
    assert f"still run in {repository}" in (await desk("EnterWorktree", branch="x")).content


async def test_rules_about_paths_hold_in_the_worktree_too(repository):
    desk = CoordinationDesk(repository, deny=("Edit(/sub/**)", "Read(/sub/b.txt)"))
    await desk("EnterWorktree", branch="x")
    for tool, arguments in (
        ("Write", {"file_path": "sub/new.txt", "content": "x"}),
        ("Read", {"file_path": "sub/b.txt"}),
        ("Bash", {"command": "cat sub/b.txt"}),
        ("Bash", {"command": "echo x > sub/c.txt"}),
    ):
        result = await desk(tool, **arguments)
        assert result.is_error, (tool, arguments)
        assert "The rule" in result.content
    assert not (await desk("Read", file_path="a.txt")).is_error
