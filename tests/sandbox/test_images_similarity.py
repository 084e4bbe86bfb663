"""No image may hold a function of the tree that solves a task."""

import inspect
import textwrap

import pytest

from codegym.sandbox.images import Pin, refusal, shared_functions
from codegym.sandbox.images.fingerprint import fingerprints
from codegym.store import LayerStore
from codegym.types import File, Image

MEDIAN = '''
def median(numbers):
    """Return the middle number."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 0:
        return (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[middle]
'''
DISGUISED = """
class Hidden:
    @staticmethod
    def innocent(values: list[float]) -> float:
        # not what it looks like
        a: list = sorted(values)
        b = len(a) // 2
        if len(a) % 2 == 0:
            return (a[b - 1] + a[b]) / 2
        return a[b]
"""


@pytest.fixture
def store(tmp_path):
    return LayerStore(tmp_path / "layers")


def make_image(store, files):
    def build(dest):
        for path, text in files.items():
            (dest / path).parent.mkdir(parents=True, exist_ok=True)
            (dest / path).write_text(text)

    return Image("x", (store.publish("root-12345678", build),))


def digests(source):
    return [each.digest for each in fingerprints(textwrap.dedent(source).encode())]


@pytest.mark.parametrize(
    "same",
    [
        MEDIAN.replace("ordered", "o").replace("middle", "m"),
        MEDIAN.replace("def median", "def center"),
        MEDIAN.replace('    """Return the middle number."""\n', "    # a comment\n\n"),
        MEDIAN.replace("numbers", "xs: list[int]", 1).replace("sorted(numbers)", "sorted(xs)"),
        "import x\n@x.cached" + MEDIAN,
    ],
)
def test_names_comments_annotations_and_decorators_do_not_matter(same):
    assert digests(same) == digests(MEDIAN)
    assert len(digests(MEDIAN)) == 1


@pytest.mark.parametrize(
    "other",
    [
        MEDIAN.replace("- 1", "+ 1"),
        MEDIAN.replace("% 2", "% 3"),
        MEDIAN.replace("sorted", "list"),
        MEDIAN.replace("ordered[middle]) / 2", "ordered[middle]) // 2"),
        MEDIAN.replace("(numbers)", "(numbers, key=None)", 1),
        MEDIAN.replace("return ordered[middle]\n", "return ordered[len(ordered) // 2]\n"),
    ],
)
def test_what_it_computes_does(other):
    assert len(digests(other)) == 1
    assert digests(other) != digests(MEDIAN)


@pytest.mark.parametrize(
    "trivial",
    [
        "def __repr__(self):\n    return f'{type(self).__name__}({self.x!r})'",
        "def __enter__(self):\n    return self",
        "def f():\n    '''" + "Long. " * 100 + "'''\n    return 1",
        "def __init__(self, a, b, c, d, e):\n"
        + "".join(f"    self.{name} = {name}\n" for name in "abcde"),
        "not python at all (",
        "def f(:\n",
        "\0",
    ],
)
def test_trivial_bodies_and_other_languages_are_left_out(trivial):
    assert digests(trivial) == []


def test_nested_functions_and_methods_are_found_by_their_full_name():
    source = "class A:\n    def outer(self):\n" + textwrap.indent(MEDIAN, "        ")
    assert "A.outer.median" in [each.name for each in fingerprints(source.encode())]


def test_deep_nesting_does_not_break_it():
    assert len(digests("def f(x):\n    return " + " + ".join(["x"] * 3000))) <= 1


def test_a_copy_under_another_name_is_found(store):
    image = make_image(store, {"opt/venv/lib/stats/_vendor/thing.py": DISGUISED, "a.py": "x = 1"})
    tree = {
        "src/calc.py": File(MEDIAN.encode()),
        "src/link.py": File(b"calc.py", "120000"),
        "README.md": File(MEDIAN.encode()),
    }
    (match,) = shared_functions(image, tree, store)
    assert (match.path, match.function) == ("src/calc.py", "median")
    assert match.image_path == "/opt/venv/lib/stats/_vendor/thing.py"
    assert match.image_function == "Hidden.innocent"


def test_an_image_without_it_has_no_match_and_is_indexed_once(store):
    image = make_image(store, {"lib/other.py": inspect.getsource(textwrap)})
    tree = {"a.py": File(MEDIAN.encode())}
    assert shared_functions(image, tree, store) == ()
    layers = {path.name for path in store.root.iterdir()}
    assert [name for name in layers if name.startswith("functions-")]
    (image.layers[0] / "lib/other.py").write_text(MEDIAN)  # never done; shows the index is used
    assert shared_functions(image, tree, store) == ()
    assert {path.name for path in store.root.iterdir()} == layers


PINS = (Pin("pytest", "9", ()), Pin("pluggy", "1", ()))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pytest", "part of what runs the tests"),
        ("Pluggy", "part of what runs the tests"),
        ("tomli", "mirrored by the standard library (tomllib)"),
        ("importlib_metadata", "mirrored by the standard library (importlib.metadata)"),
        ("dataclasses", "mirrored by the standard library"),
        ("statistics", "mirrored by the standard library"),
    ],
)
def test_what_cannot_become_an_environment_is_refused_with_the_reason(name, reason):
    assert reason in refusal(name, PINS)


def test_what_the_image_vendors_is_refused(store):
    at = "opt/venv/lib/python3.11/site-packages/big/_vendor"
    image = make_image(store, {f"{at}/more_itertools/__init__.py": "", f"{at}/six.py": ""})
    assert f"/{at}/more_itertools" in refusal("more-itertools", PINS, image)
    assert f"/{at}/six.py" in refusal("six", PINS, image)
    assert refusal("toolz", PINS, image) is None
    assert refusal("more-itertools", PINS) is None
