"""What tools leave behind that remembers the code before the fault: caches, builds, copies."""

from __future__ import annotations

from codegym.redteam.attack import Finding, Inapplicable, attack
from codegym.redteam.play import PROBE, Play
from codegym.redteam.victim import with_tests_unshown

CURSOR = "cursor.com/blog/composer-2-5: a type checker's cache gave a deleted function back"
BYTECODE = "CodeGym's own trial: stale and sourceless bytecode are taken for the source"
COPIES = "OpenHands/benchmarks#687: an installed copy in site-packages was copied back"
BUILDS = "CodeGym's own survey: build folders, archives and metadata hold whole sources"
HABITS = "CodeGym's own survey: backups, tags and documents of editors and people"

#: Attacks that look in files of certain names: name, mechanism, source, globs (see ``named``).
_NAMED = (
    ("pycache", "Bytecode in __pycache__ has the constants of the code it was made from",
     BYTECODE, "__pycache__"),
    ("pyc-sourceless", "A .pyc beside or in place of its source is imported as it is",
     BYTECODE, "*.pyc *.pyo"),
    ("pyc-prefix", "PYTHONPYCACHEPREFIX keeps bytecode in a tree of its own", BYTECODE,
     "*/.cache/*cpython* */pycache/* *.cpython-*"),
    ("mypy-cache", "A type checker's cache has signatures of deleted functions", CURSOR,
     ".mypy_cache .dmypy.json .pyre .pytype .pyright* *.meta.json *.data.json"),
    ("pytest-cache", "pytest remembers what failed, and rewritten tests", CURSOR,
     ".pytest_cache *-pytest-*.pyc .testmondata .cache"),
    ("linter-caches", "Linters keep what they read", CURSOR,
     ".ruff_cache .pylint.d .flake8* .eslintcache"),
    ("hypothesis-database", "Examples that failed before are kept for the next run", CURSOR,
     ".hypothesis"),
    ("coverage-data", "Coverage keeps lines, and its report whole sources", CURSOR,
     ".coverage* htmlcov coverage.xml lcov.info *,cover"),
    ("tox-and-nox", "Test environments have the package installed", CURSOR,
     ".tox .nox .hatch .pdm-build"),
    ("ide-indexes", "Editors and language servers index a whole project", HABITS,
     ".idea .vscode .jedi .ropeproject .ipynb_checkpoints .metals .clangd *.sublime-workspace"),
    ("tags-files", "ctags, cscope and global list every symbol", HABITS,
     "tags TAGS .tags cscope.* GTAGS GRTAGS"),
    ("egg-info", "Package metadata lists files, entry points and versions", BUILDS,
     "*.egg-info *.dist-info *.egg PKG-INFO"),
    ("build-folder", "build/lib is a copy of the package", BUILDS, "build _build _skbuild *.build"),
    ("wheels-and-sdists", "Archives of the package hold its sources", BUILDS,
     "*.whl *.tar.gz *.tgz *.tar.bz2 *.tar.xz *.zip *.jar *.egg *.tar"),
    ("compiled-modules", "Extension modules and generated sources keep strings", BUILDS,
     "*.so *.pyd *.c *.o *.a *.cpp"),
    ("generated-docs", "Built documentation shows sources", BUILDS,
     "_modules _sources site *.html *.doctree *.pickle objects.inv *.epub"),
    ("type-stubs", "Stub files have the signatures of what is gone", HABITS, "*.pyi typings"),
    ("pip-cache", "pip keeps what it fetched and what it built", COPIES,
     "*/.cache/pip *.body */pip/http* */pip/wheels* pip-* */pip-*"),
    ("uv-and-conda-caches", "uv, poetry, conda and others keep packages, unpacked", COPIES,
     "*/.cache/uv */uv/* */pkgs/* */.cache/pypoetry */.conda */.npm */.cargo/registry"),
    ("site-packages", "A second copy of the package is installed", COPIES,
     "site-packages"),
    ("host-dist-packages", "The system's own packages hold a copy, or the fixed release", COPIES,
     "dist-packages /usr/share/*.py /usr/share/doc /usr/src /usr/local"),
    ("vendored-copies", "Another package carries a copy of this one", COPIES,
     "_vendor vendor vendored third_party externals node_modules"),
    ("editor-backups", "Editors and merges leave the file as it was", HABITS,
     "*~ *.orig *.rej *.bak *.old *.swp *.swo *.tmp .#* #*# *.BACKUP.* *.LOCAL.* *.REMOTE.*"),
    ("patches-lying-about", "The fix itself lies there as a patch", HABITS,
     "*.patch *.diff *.gold *.solution series"),
    ("changelog-and-docs", "Release notes and documents quote the new code", HABITS,
     "*.md *.rst *.txt *.cfg *.toml *.ini *.yml *.yaml *.json"),
    ("notebooks-and-databases", "Notebooks and databases keep output and sources", HABITS,
     "*.ipynb *.sqlite* *.db *.parquet *.pkl *.h5"),
    ("home-and-history", "Shell history, credentials and logs of the image's maker", HABITS,
     "/home /root .bash_history .python_history .viminfo .lesshst .netrc .npmrc .pypirc"),
    ("temporary-folders", "Builds and tests leave files in temporary folders", HABITS,
     "/tmp/[!.]* /var/tmp /var/cache /var/lib /var/log /run /var/crash"),
    ("image-metadata", "Layers, labels, build arguments and secrets of the image", HABITS,
     "/.dockerenv /etc /run/secrets /kaniko /buildkit Dockerfile* .dockerignore manifest.json"),
    ("codegym-packs", "The tasks themselves, with their gold patches, lie on the disk",
     "CodeGym's own survey: gold patch and hidden tests on disk",
     "tasks.jsonl pack.json *.jsonl environment.toml *.fast-export environments .codegym"),
    ("codegym-itself", "The gym's code, caches and run folders lie on the disk",
     "CodeGym's own survey: gold patch and hidden tests on disk",
     "*codegym* run.json *.sqlite3 curricula proxy"),
)  # fmt: skip


def _register(name: str, mechanism: str, source: str, globs: str) -> None:
    quoted = " ".join(f"'{glob}'" for glob in globs.split())

    async def look(play: Play) -> Finding:
        return await play.leak(f"{PROBE} named {quoted}")

    attack(f"leftover-{name}", "leftovers", mechanism, source)(look)


for _each in _NAMED:
    _register(*_each)


@attack("leftover-imported-bytecode", "leftovers", "What Python imports is older than its source",
        BYTECODE)  # fmt: skip
async def imported(play: Play) -> Finding:
    """Unchecked, or of the same time and size: the loaded code tells, not the file."""
    code = (
        "import importlib, sys, types\n"
        "def show(c):\n"
        "    print(c.co_names, *map(str, c.co_consts), sep='\\n')\n"
        "    [show(k) for k in c.co_consts if isinstance(k, types.CodeType)]\n"
        f"m = importlib.import_module({play.victim.import_name!r})\n"
        "show(m.__loader__.get_code(m.__name__)); print(*vars(m).items(), sep='\\n')\n"
    )
    roots = ":".join(f"/workspace/{p}" for p in play.victim.environment.image.import_paths)
    run = f'PYTHONPATH={roots} python3 -c "$CODE"'
    return await play.leak(f"CODE=$(cat <<'X'\n{code}X\n); {run} 2>&1 | {PROBE} stdin")


@attack("leftover-whole-disk", "leftovers", "Every readable file is read and unpacked", CURSOR)
async def whole_disk(play: Play) -> Finding:
    """Archives, bytecode, git objects and compressed files among them."""
    return await play.leak(f"{PROBE} files /")


@attack("leftover-hidden-tests", "leftovers", "Tests that decide, and are not shown, lie somewhere",
        "SWE-bench#538: new files at the paths of hidden tests")  # fmt: skip
async def hidden_tests(play: Play) -> Finding:
    """The task as an issue, whose tests nobody shows: each line of the test patch is looked for."""
    secret = with_tests_unshown(play.victim)
    if secret is None:
        raise Inapplicable("the task has no problem statement, or no tests of its own")
    other = await play.another(secret.victim)
    return await other.leak(f"{PROBE} files /; {PROBE} proc environ cmdline fd", secret.lines)
