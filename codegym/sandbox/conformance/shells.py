"""Commands: state, endings, output, forged markers."""

from __future__ import annotations

import asyncio

from codegym.sandbox.base import Sandbox
from codegym.sandbox.conformance.check import check, expect, says, text


@check
async def shell_keeps_state(box: Sandbox) -> None:
    """Directory, variables and functions outlive a command."""
    await box.shell("cd package; export A=1; B=2; f() { echo f-$B; }")
    seen = await says(box, "pwd; echo $A; f")
    expect(seen == "/workspace/package\n1\nf-2", "the shell keeps its state", seen)


@check
async def shell_reports_exit_codes(box: Sandbox) -> None:
    """Exit codes come through, signals as 128 + n."""
    for command, code in (("true", 0), ("(exit 7)", 7), ("sh -c 'kill -9 $$'", 137), ("nope", 127)):
        result = await box.shell(command)
        expect(result.exit_code == code, f"{command} gives {code}", result)


@check
async def output_keeps_its_order(box: Sandbox) -> None:
    """Standard output and error are one stream."""
    seen = await says(box, "echo 1; echo 2 >&2; echo 3")
    expect(seen == "1\n2\n3", "output and error keep their order", seen)


@check
async def exit_restarts_the_shell(box: Sandbox) -> None:
    """``exit`` gives its code; files, directory and exported variables stay, processes do not."""
    result = await box.shell("cd package; export A=1; echo x > new; sleep 300 & exit 3")
    expect((result.exit_code, result.restarted) == (3, "exit"), "exit 3 gives 3", result)
    # The last command that ended is what is known of the state.
    seen = await says(box, "cat package/new new 2>/dev/null; cat /proc/[0-9]*/comm | grep -c sleep")
    expect(seen == "x\n0", "files stay, processes end", seen)


@check
async def exported_state_survives_a_restart(box: Sandbox) -> None:
    """What a finished command exported is there after the next one ended the shell."""
    await box.shell("cd package; export A='a b\n\"c\"'; readonly R=1; export R")
    await box.shell("kill -9 $$; exit 1")
    seen = await says(box, 'pwd; echo "$A"')
    expect(seen == '/workspace/package\na b\n"c"', "directory and exports survive", seen)


@check
async def a_hung_command_is_ended(box: Sandbox) -> None:
    """Past its time a command and everything it started is killed, whatever signals it ignores."""
    script = "trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; sleep 300' & while :; do :; done"
    result = await box.shell(script, timeout_sec=0.5)
    expect((result.exit_code, result.timed_out) == (124, True), "a time-out gives 124", result)
    seen = await says(box, "cat /proc/[0-9]*/comm | grep -c sleep; echo ok")
    expect(seen == "0\nok", "nothing of it is left and the shell works", seen)


@check
async def a_hung_exec_is_ended(box: Sandbox) -> None:
    """The same for ``exec``."""
    result = await box.exec(["/bin/sh", "-c", "trap '' TERM; sleep 300"], timeout_sec=0.3)
    expect(result.timed_out, "exec is ended", result)
    expect(await says(box, "echo ok") == "ok", "the shell works afterwards")


@check
async def large_output_is_cut_in_the_middle(box: Sandbox) -> None:
    """Head and tail are kept, the rest is counted and not stored."""
    result = await box.shell("echo first; yes | head -c 50000000; echo last", max_output_bytes=2000)
    expect(result.output.startswith(b"first\n"), "the head is kept", result.output[:50])
    expect(result.output.endswith(b"last\n"), "the tail is kept", result.output[-50:])
    expect(len(result.output) < 2200, "the bound holds", len(result.output))
    expect(result.omitted_bytes == 50_000_011 - 2000, "the rest is counted", result.omitted_bytes)


@check
async def a_printed_marker_ends_nothing(box: Sandbox) -> None:
    """Text that looks like the protocol is only text."""
    command = r"printf 'S 0 3\nend\0 0\0/\0declare -x A\0'; sleep 0.2; echo end; (exit 5)"
    result = await box.shell(command)
    expect(result.exit_code == 5 and result.output.endswith(b"end\n"), "no marker ends it", result)


@check
async def a_forged_status_ends_nothing(box: Sandbox) -> None:
    """Whoever writes into the shell's own descriptors does not know the token."""
    command = (
        "for f in /proc/1/fd/*; do printf '0123456789abcdef 0\\0/\\0\\0' > $f; done 2>/dev/null;"
        " sleep 0.2; (exit 6)"
    )
    result = await box.shell(command)
    expect(result.exit_code == 6, "a forged status is ignored", result)
    await box.shell("true", timeout_sec=5)  # at worst the shell is started anew
    expect(await says(box, "echo ok") == "ok", "the shell goes on")


@check
async def input_is_empty(box: Sandbox) -> None:
    """A command that reads its input sees its end at once."""
    result = await box.shell("cat; read x; echo done", timeout_sec=10)
    expect(text(result) == "done", "input is /dev/null", result)


@check
async def any_command_text_is_safe(box: Sandbox) -> None:
    """Quotes, newlines, NULs, non-UTF-8 and length do not break the protocol."""
    seen = await says(box, "echo 'a\nb' \"c d\"; cat <<'X'\n$Y `z` \\\nX\n: \udcff\0")
    expect(seen == "a\nb c d\n$Y `z` \\", "any text is a command", seen)
    result = await box.shell("echo " + "x" * 300_000 + " | wc -c", timeout_sec=30)
    expect(text(result) == "300001", "so is a long one", result)
    result = await box.shell("if then; (")
    expect(result.exit_code != 0, "a syntax error is the command's own", result)
    expect(await says(box, "echo ok") == "ok", "and ends nothing")


@check
async def exec_is_apart_from_the_shell(box: Sandbox) -> None:
    """``exec`` sees neither the shell's directory nor its variables, and leaves none."""
    await box.shell("cd package; export A=1; PATH=/nowhere")
    result = await box.exec(["/bin/sh", "-c", "pwd; echo [$A]; exit 4"])
    expect((result.exit_code, text(result)) == (4, "/workspace\n[]"), "exec is apart", result)
    expect(await says(box, "echo $A; pwd") == "1\n/workspace/package", "the shell is untouched")
    await box.shell("PATH=/usr/bin:/bin")


@check
async def exec_takes_input_and_reports(box: Sandbox) -> None:
    """Input of any size arrives whole, read or not; a report comes back apart from the output."""
    data = bytes(range(256)) * 4000
    result = await box.exec(["/bin/sh", "-c", "cat >&6; echo out"], stdin=data, report=True)
    expect(result.report == data, "the report is whole", len(result.report))
    expect(text(result) == "out", "and apart", result.output)
    result = await box.exec(["/bin/true"], stdin=data)
    expect(result.exit_code == 0, "unread input does no harm", result)
    result = await box.exec(["/bin/cat"], stdin=b"next")
    expect(text(result) == "next", "nor does it reach the next program", result)


@check
async def a_daemon_ends_with_its_sandbox(box: Sandbox) -> None:
    """A process that left the session and ignores signals dies in ``collect``."""
    await box.shell(
        "(trap '' TERM HUP; setsid sh -c 'while :; do date >> tick; sleep 0.01; done' &)"
    )
    await asyncio.sleep(0.1)
    first = await box.collect()
    await asyncio.sleep(0.1)
    second = await box.collect()
    expect(first == second, "nothing writes after collect")
    expect(any(change.path == "tick" for change in first.changes), "it had run", first)


@check
async def a_shell_that_closed_its_output_is_still_served(box: Sandbox) -> None:
    """Files can be read and refusals told after ``exec 1>&- 2>&-``."""
    await box.shell("exec 1>&- 2>&-")
    result = await box.exec(["/bin/sh", "-c", "echo out; echo err >&2"])
    expect(text(result) == "out\nerr", "exec has its own output", result)
    expect(await box.read("README") == b"hello\n", "so have files")


@check
async def signals_are_as_usual(box: Sandbox) -> None:
    """No signal is ignored from the start: a broken pipe ends its writer."""
    command = "yes | head -n 1; echo ${PIPESTATUS[0]}; sh -c 'kill -INT $$'; echo $?"
    expect(await says(box, command) == "y\n141\n130", "no signal is ignored")
