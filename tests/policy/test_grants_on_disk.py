from cosh_tools.hosts import Allowed, Grant
from cosh_tools.kinds import PermissionMode
from cosh_tools.policy.grants import GrantStore
from cosh_tools.policy.rules import parse_rule
from support.desk import Desk


def always(text, root):
    return Grant(text, (parse_rule(text, root),), "always")


def texts(store):
    return [rule.text for rule in store.rules]


def test_what_one_kernel_forgot_is_not_brought_back_by_another(tmp_path):
    file = tmp_path / "kept" / "grants.json"
    one = GrantStore(file, tmp_path)
    one.add(always("Bash(make:*)", tmp_path))
    two = GrantStore(file, tmp_path)
    one.forget("Bash(make:*)")

    two.add(always("Bash(git status)", tmp_path))

    assert texts(GrantStore(file, tmp_path)) == ["Bash(git status)"]


def test_grants_of_two_kernels_are_both_kept_and_other_workspaces_left_alone(tmp_path):
    file = tmp_path / "kept" / "grants.json"
    elsewhere = GrantStore(file, tmp_path / "elsewhere")
    one, two = GrantStore(file, tmp_path), GrantStore(file, tmp_path)

    elsewhere.add(always("Bash(ls)", tmp_path))
    one.add(always("Bash(make:*)", tmp_path))
    two.add(always("Bash(git status)", tmp_path))

    assert texts(GrantStore(file, tmp_path)) == ["Bash(make:*)", "Bash(git status)"]
    assert texts(GrantStore(file, tmp_path / "elsewhere")) == ["Bash(ls)"]
    assert file.stat().st_mode & 0o777 == 0o600


class TheLastButton:
    async def ask(self, request):
        return Allowed(grant=request.grants[-1])


async def test_a_grant_that_cannot_be_kept_still_holds_for_the_session_and_the_call_runs(tmp_path):
    (tmp_path / "data").write_text("a file where the folder would be")
    grants = GrantStore(tmp_path / "data" / "grants.json", tmp_path)
    desk = Desk(tmp_path, mode=PermissionMode.DEFAULT, permission_handler=TheLastButton())
    desk.runner.gate.grants = grants

    first = await desk("Write", file_path="a.txt", content="x")

    assert not first.is_error, first.content
    assert len(texts(grants)) == 1
