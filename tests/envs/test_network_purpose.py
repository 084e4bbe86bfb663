"""What a registry is told of a task: its date, its project's names, pieces of its solution."""

from hypothesis import given
from hypothesis import strategies as st

from codegym.envs.purpose import _core, markers_of, names_of
from codegym.types import File
from codegym.workspace.diff import diff_trees
from codegym.workspace.patch import apply_patch


async def test_the_tiny_tasks(setting, source):
    ready = await setting.ready(source.get("tiny-0"))
    assert names_of(ready) == ("tiny", "tinycalc")
    (marker,) = markers_of(ready.task, ready.prepared.start_tree)
    assert marker.splitlines()[1:] == [
        "    middle = len(ordered) // 2",
        "    if len(ordered) % 2 == 0:",
        "        return (ordered[middle - 1] + ordered[middle]) / 2",
        "    return ordered[middle]",
    ]
    solved = apply_patch(ready.prepared.start_tree, ready.task.patch, where="patch")
    assert marker in solved["src/tinycalc/order.py"].data.decode()


async def test_what_is_short_or_in_the_sandbox_already_is_no_marker(setting, source):
    from dataclasses import replace

    ready = await setting.ready(source.get("tiny-0"))
    start = ready.prepared.start_tree

    def of(old, new):
        tree = {**start, "src/a.py": File(old)}
        patch = diff_trees(tree, {**start, "src/a.py": File(new)})
        return markers_of(replace(ready.task, patch=patch), tree)

    assert of(b"x = 1\n", b"x = 2\n") == ()
    assert of(b"x = 1\n", start["src/tinycalc/arith.py"].data) == ()
    assert of(b"x = 1\n", b"a_rather_long_name = other(1)\n") == ("a_rather_long_name = other(1)",)
    assert of(b"x = 1\n", b"") == ()
    many = [b"# one\n" * 9 + b"changed_number_%d = some_function(1)\n" % n for n in range(100)]
    plain = [b"# one\n" * 9 + b"x%d\n" % n for n in range(100)]
    assert len(of(b"".join(plain), b"".join(many))) == 64
    (cut,) = of(b"x = 1\n", "ü".encode() * 10_000)
    assert cut == "ü" * 2000


@given(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"])), st.data())
def test_the_core_of_a_hunk_is_a_piece_of_what_it_leaves(old, data):
    new = data.draw(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"])))
    core = b"".join(_core(old, new))
    assert core in b"".join(new)
    if old != new and set(new) - set(old):
        assert any(line in core for line in set(new) - set(old))
