"""Bash to the last edge: folder, exit code, timeouts, trees of processes, long and odd output."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from support.shell_desk import ShellDesk
from support.waiting import alive, until


async def test_it_says_what_a_command_wrote_and_its_exit_code(desk):
    result = await desk("Bash", command="echo hello")
    assert result.content == "hello\n(exit code 0)"
    assert result.metadata["exit_code"] == 0
    assert not result.is_error


async def test_silence_is_said(desk):
    assert (await desk("Bash", command="true")).content == "(no output, exit code 0)"


async def test_a_failure_is_an_error_with_its_code_first(desk):
    result = await desk("Bash", command="echo out; echo err >&2; exit 3")
    assert result.content == "Command exited with code 3\nout\nSTDERR:\nerr"
    assert result.is_error
    assert result.metadata["summary"] == "exit 3"


async def test_a_signal_is_named(desk):
    result = await desk("Bash", command="kill -9 $$")
    assert result.content.startswith("Command ended by SIGKILL")
    assert result.is_error


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("echo a | grep b", "no lines matched"),
        ("echo a > x; echo b > y; diff x y > /dev/null", "the files differ"),
        ("test -f nothing", "the condition is false"),
        ("cd . && git -c a=b grep x 2>/dev/null || grep x /dev/null", "no lines matched"),
    ],
)
async def test_an_exit_code_that_is_an_answer_is_not_an_error(desk, command, meaning):
    result = await desk("Bash", command=command)
    assert meaning in result.content
    assert not result.is_error


async def test_a_grep_that_fails_is_an_error(desk):
    assert (await desk("Bash", command="grep x nothing")).is_error


async def test_the_folder_is_kept_and_variables_are_not(desk):
    (desk.folder / "sub").mkdir()
    await desk("Bash", command="cd sub; X=1; export Y=2; alias ll=ls")
    result = await desk("Bash", command='echo "$(pwd) [$X$Y]"')
    assert result.content.startswith(f"{desk.folder / 'sub'} []")
    assert desk.ctx.working_dir == desk.folder / "sub"


@pytest.mark.parametrize(
    "ending", ["exit 0", "exit 7", "false", "set -e; false", "kill -TERM $$", "return 3", "{ exit 2; }"]
)
async def test_the_folder_is_kept_however_the_command_ends(desk, ending):
    (desk.folder / "sub").mkdir()
    await desk("Bash", command=f"cd sub\n{ending}")
    assert desk.ctx.working_dir == desk.folder / "sub"


async def test_a_subshell_and_a_background_job_do_not_move_the_folder(desk):
    (desk.folder / "sub").mkdir()
    await desk("Bash", command="(cd sub); cd sub & wait")
    await desk("Bash", command="cd sub", run_in_background=True)
    await until(lambda: desk.jobs.jobs()[0].status == "completed")
    assert desk.ctx.working_dir == desk.folder


async def test_an_odd_folder_name_is_kept(desk):
    name = "a b\n$(x) é"
    (desk.folder / name).mkdir()
    await desk("Bash", command="cd a*")
    assert desk.ctx.working_dir == desk.folder / name


async def test_a_folder_that_vanished_is_said_and_the_workspace_takes_its_place(desk):
    (desk.folder / "sub").mkdir()
    await desk("Bash", command="cd sub")
    (desk.folder / "sub").rmdir()
    result = await desk("Bash", command="pwd")
    assert result.content.splitlines()[0] == str(desk.folder)
    assert f"The folder {desk.folder / 'sub'} is gone" in result.content
    assert desk.ctx.working_dir == desk.folder


async def test_a_command_that_removes_its_own_folder_leaves_the_session_where_it_was(desk):
    await desk("Bash", command="mkdir sub; cd sub; rmdir ../sub")
    assert desk.ctx.working_dir == desk.folder


async def test_the_process_itself_never_moves(desk):
    before = Path.cwd()
    await desk("Bash", command="cd /")
    assert Path.cwd() == before


async def test_nothing_of_the_environment_is_in_the_arguments(desk, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", "s3cr3t-value")
    result = await desk("Bash", command="cat /proc/$$/cmdline | tr '\\0' ' '; echo $SOME_SECRET | wc -c")
    assert "s3cr3t-value" not in result.content
    assert result.content.rstrip().endswith("13\n(exit code 0)")


async def test_programs_are_told_not_to_colour(desk, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert (await desk("Bash", command="echo $TERM$FORCE_COLOR")).content.startswith("dumb\n")


async def test_stdin_is_empty(desk):
    result = await desk(
        "Bash", command="read -r x; echo got=$x; cat; python3 -c 'print(input())' 2>/dev/null; echo end"
    )
    assert result.content.startswith("got=\nend")


async def test_it_runs_in_a_session_of_its_own(desk):
    result = await desk("Bash", command="ps -o sid= -p $$; echo $$")
    session, pid = result.content.split()[:2]
    assert session == pid
    assert int(session) != os.getsid(0)


async def test_a_timeout_keeps_what_was_written_and_ends_the_whole_tree(desk):
    result = await desk("Bash", command="echo part; sleep 300 & echo $!; (sleep 300; true)", timeout=400)
    assert result.is_error
    assert result.content.startswith("Command timed out after 400ms")
    assert "part" in result.content
    assert not alive(int(result.content.split()[-1]))


async def test_who_ignores_the_polite_signal_is_killed(desk):
    started = time.monotonic()
    result = await desk("Bash", command="trap '' TERM; echo $$; (trap '' TERM; sleep 300); sleep 300", timeout=300)
    assert time.monotonic() - started < 8
    assert not alive(int(result.content.split()[-1]))


async def test_who_hears_the_polite_signal_may_tidy_up(desk):
    await desk("Bash", command="trap 'echo tidy > note; exit 1' TERM; sleep 300 & wait", timeout=300)
    assert (desk.folder / "note").read_text() == "tidy\n"


async def test_a_process_that_left_its_session_is_ended_too(desk):
    command = "setsid bash -c 'echo $$ > pid; setsid sleep 300 & wait' & sleep 300"
    await desk("Bash", command=command, timeout=600)
    assert not alive(int((desk.folder / "pid").read_text()))


async def test_a_detached_process_does_not_hold_the_call_and_is_named(desk):
    started = time.monotonic()
    result = await desk("Bash", command="sleep 300 & echo started $!")
    assert time.monotonic() - started < 5
    pid = int(result.content.split()[1])
    assert alive(pid)
    assert f"Still running in the background: sleep (pid {pid})" in result.content
    os.kill(pid, 9)


async def test_a_process_left_with_its_output_closed_is_named_as_well(desk):
    result = await desk("Bash", command="nohup sleep 300 >/dev/null 2>&1 & echo ok")
    (pid,) = result.metadata["left"]
    assert alive(pid)
    os.kill(pid, 9)


async def test_output_that_arrives_just_after_the_end_is_not_lost(desk):
    result = await desk("Bash", command="echo late > >(cat; echo later)")
    assert "late\nlater" in result.content


async def test_stop_ends_the_tree_within_a_second(desk):
    call = asyncio.create_task(desk("Bash", command="echo $$ > pid; trap '' TERM; sleep 300 & wait; sleep 300"))
    await until((desk.folder / "pid").exists)
    await until(lambda: (desk.folder / "pid").read_text().strip())
    started = time.monotonic()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - started < 1.5
    assert not alive(int((desk.folder / "pid").read_text()))


async def test_long_output_shows_both_ends_and_is_kept_whole(desk):
    result = await desk("Bash", command="seq 1 50000")
    assert result.content.startswith("1\n2\n")
    assert "\n50000\n(exit code 0)" in result.content
    assert len(result.content) < 31_000
    kept = result.metadata["output_file"]
    assert kept in result.content
    assert _text(kept) == "".join(f"{number}\n" for number in range(1, 50_001))


async def test_a_person_may_set_how_much_is_shown(desk, monkeypatch):
    monkeypatch.setenv("BASH_MAX_OUTPUT_LENGTH", "2000")
    assert len((await desk("Bash", command="seq 1 50000")).content) < 2_500


async def test_characters_are_not_cut_in_half(desk):
    result = await desk("Bash", command="for i in $(seq 1 8000); do printf 'héé→'; done")
    assert "\ufffd" not in result.content


async def test_endless_output_is_ended_within_its_bound(desk, monkeypatch):
    monkeypatch.setattr("cosh_tools.shell.bash.MOST", 1 << 20)
    result = await desk("Bash", command="yes")
    assert result.is_error
    assert "more than 1 MiB" in result.content


async def test_binary_output_is_said_not_shown(desk):
    result = await desk("Bash", command="head -c 3000 /dev/zero")
    assert result.content == "(binary output, 3000 bytes; redirect it to a file to use it)\n(exit code 0)"


async def test_terminal_drawing_becomes_plain_text(desk):
    result = await desk("Bash", command=r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\n\033]0;title\007x\r\n'")
    assert result.content == "red\n100%\nx\n(exit code 0)"


async def test_output_comes_live_and_bounded(desk):
    await desk("Bash", command="echo one; sleep 0.4; echo two; seq 1 20000")
    assert desk.live[0] == "one\n"
    assert desk.live[-1].endswith("20000\n")
    assert max(map(len, desk.live)) <= 4_000


async def test_a_line_before_a_long_silence_is_shown_at_once(desk):
    call = asyncio.create_task(desk("Bash", command="echo a; echo b; sleep 300"))
    await until(lambda: "".join(desk.live) == "a\nb\n")
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("echo \0", "NUL byte"),
        ("echo \ud800", "surrogate"),
        ("echo " + "x" * 130_000, "is the most"),
    ],
)
async def test_a_command_no_shell_could_take_is_refused_in_words(desk, command, sentence):
    result = await desk("Bash", command=command)
    assert result.is_error
    assert sentence in result.content


async def test_a_syntax_error_is_bash_s_own_message(desk):
    result = await desk("Bash", command="if then")
    assert result.is_error
    assert "syntax error" in result.content


async def test_a_timeout_is_at_most_ten_minutes_and_a_number(desk):
    result = await desk("Bash", command="true", timeout="5000")
    assert not result.is_error
    assert "timeout" in (await desk("Bash", command="true", timeout=-1)).content


async def test_without_bash_on_path_it_says_so(desk, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = await desk("Bash", command="true")
    assert result.is_error
    assert "bash was not found" in result.content


async def test_ten_commands_at_once_keep_their_outputs_apart(desk):
    results = await asyncio.gather(*(desk("Bash", command=f"sleep 0.1; echo {number}") for number in range(10)))
    assert [result.content for result in results] == [f"{number}\n(exit code 0)" for number in range(10)]


def _text(path: str) -> str:
    return Path(path).read_text()


async def test_a_full_disk_costs_the_kept_copy_and_not_the_output(tmp_path):
    class FullShelf:
        def keep(self, text, name):
            return Path("/dev/full")

    desk = ShellDesk(tmp_path, spill=FullShelf())
    result = await desk("Bash", command="seq 100000")

    assert result.content.startswith("1\n2\n")
    assert "100000" in result.content
    assert "/dev/full" not in result.content
