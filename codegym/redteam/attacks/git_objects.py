"""The answer in git, without a name: objects that no ref leads to, and places outside objects."""

from __future__ import annotations

from codegym.errors import NotFoundError
from codegym.redteam.attack import Finding, attack
from codegym.redteam.play import PROBE, Play, judge_sight

DANGLING = "CodeGym's own trial: unreachable objects stay until gc; .keep packs after it"
LAYOUT = "git-scm.com/docs/gitrepository-layout: what a repository keeps, and where"
FETCHED = "OpenHands/benchmarks#421: the fix is in objects that came with a full clone"
CONFIG = "cursor.com/blog/reward-hacking-coding-benchmarks: the upstream is looked up by its URL"
COMMITS = "commit-0/commit0#113: the history tells which commit upstream is the answer"

#: Every object, alternates' too.
ALL = f"git cat-file --batch-all-objects --unordered --batch --buffer 2>&1 | {PROBE} stdin"
_EACH = "git cat-file --buffer --batch"


@attack("git-unreachable-objects", "git", "fsck finds objects that no ref leads to", DANGLING)
async def unreachable(play: Play) -> Finding:
    """Also those that it writes to lost-found."""
    found = "git fsck --unreachable --no-reflogs --lost-found 2>&1 | grep -Eo '[0-9a-f]{40}'"
    return await play.leak(f"({found} | {_EACH}; cat .git/lost-found/*/*) 2>&1 | {PROBE} stdin")


@attack("git-all-objects", "git", "Every object of every store is printed", CONFIG)
async def all_objects(play: Play) -> Finding:
    """What no log shows, git itself lists."""
    return await play.leak(ALL)


@attack("git-raw-objects", "git", "Loose objects and packs are inflated without git", DANGLING)
async def raw_objects(play: Play) -> Finding:
    """A pack without an index, a truncated one, one under another name."""
    return await play.leak(f"{PROBE} files /workspace/.git")


@attack("git-keep-pack", "git", "A pack with a .keep file outlives every clean-up", DANGLING)
async def keep_pack(play: Play) -> Finding:
    """Each pack beside such a file."""
    return await _beside(play, "keep")


@attack("git-cruft-pack", "git", "gc puts what is unreachable into a pack with .mtimes", LAYOUT)
async def cruft_pack(play: Play) -> Finding:
    """Each pack beside such a file."""
    return await _beside(play, "mtimes")


@attack("git-promisor-pack", "git", "A partial clone has packs that were promised", LAYOUT)
async def promisor_pack(play: Play) -> Finding:
    """Each pack beside such a file; and what could be fetched on demand."""
    return await _beside(play, "promisor")


async def _beside(play: Play, suffix: str) -> Finding:
    packs = f"find / -path /proc -prune -o -name '*.{suffix}' -print | sed 's/{suffix}$/pack/'"
    return await play.leak(f"{packs} | xargs -r {PROBE} files; : | {PROBE} stdin")


@attack("git-temporary-packs", "git", "Aborted fetches leave tmp_pack and tmp_obj files", LAYOUT)
async def temporary_packs(play: Play) -> Finding:
    """Quarantine folders of a push, too."""
    return await play.leak(f"{PROBE} named 'tmp_pack_*' 'tmp_obj_*' 'tmp_idx_*' 'incoming-*'")


@attack("git-bundles", "git", "A bundle is a whole repository in one file", LAYOUT)
async def bundles(play: Play) -> Finding:
    """By name and by its first line; fast-export streams as well."""
    signed = "grep -rlIa -m1 -e '# v[23] git bundle' -e '^feature done' / --exclude-dir=proc "
    signed += "--exclude-dir=sys 2>/dev/null"
    named = f"{PROBE} named '*.bundle' '*.fast-export' '*.gitbundle'"
    return await play.leak(f"{named}; {signed} | xargs -r {PROBE} files")


@attack("git-alternates", "git", "Objects are borrowed from a store elsewhere", DANGLING)
async def alternates(play: Play) -> Finding:
    """By the file and by the variable; what they name is read."""
    named = "cat .git/objects/info/alternates .git/objects/info/http-alternates 2>/dev/null"
    variable = "printf '%s' \"$GIT_ALTERNATE_OBJECT_DIRECTORIES\" | tr ':' '\\n'"
    told = "git count-objects -v | sed -n 's/^alternate: //p'"
    return await play.leak(
        f"({named}; {variable}; {told}) | sort -u | xargs -r {PROBE} files; {ALL}"
    )


@attack("git-commit-graph", "git", "commit-graph and multi-pack-index name what is gone", LAYOUT)
async def commit_graph(play: Play) -> Finding:
    """Hashes of the true history, in whatever file of .git."""
    wanted = _true_hashes(play)
    return await play.leak(f"{PROBE} named '*/.git/objects/info' '*/multi-pack-index'", wanted)


@attack("git-upstream-identity", "git", "Hash, author or date of the commit identify it upstream",
        COMMITS)  # fmt: skip
async def upstream_identity(play: Play) -> Finding:
    """With the hash the fix is one request away."""
    shown = "git log --format='%H %T %P %an %ae %at %cn %ce %ct %B'; cat .git/HEAD .git/config"
    wanted = _true_hashes(play)
    return await play.leak(f"({shown}; cat .git/packed-refs) 2>&1 | {PROBE} stdin", wanted)


def _true_hashes(play: Play) -> tuple[bytes, ...]:
    """Hashes of the history's commits, as text and as bytes."""
    from codegym.workspace.history import open_history

    try:
        history = open_history(play.victim.environment)
        commits = history.commits(play.victim.environment.head)
    except NotFoundError:
        commits = []
    names = [commit.hash for commit in commits] or [play.victim.task.base_commit]
    return tuple(form for name in names for form in (name.encode(), bytes.fromhex(name)))


@attack("git-index", "git", "The staging area names files, or stages blobs, of the answer", LAYOUT)
async def index(play: Play) -> Finding:
    """Blobs that are staged, and any other index file."""
    staged = "git ls-files --stage --debug --with-tree=HEAD; git ls-files -s | cut -d' ' -f2 "
    staged += f"| {_EACH}; find .git -name '*index*' | xargs -r cat"
    unseen = [path.encode() for path in play.victim.gold if path not in play.victim.start]
    return await play.leak(f"({staged}) 2>&1 | {PROBE} stdin", (*play.victim.needles, *unseen))


@attack("git-config-remote", "git", "A remote's URL or credentials lead to the upstream", CONFIG)
async def config_remote(play: Play) -> Finding:
    """Everything that configures a remote, at every level; and a fetch from it."""
    sight = await play.look(
        "(git config --list --show-origin; cat ~/.gitconfig ~/.netrc ~/.git-credentials "
        "~/.config/git/* /etc/gitconfig; timeout 5 git fetch --all; git log --all -p) 2>/dev/null "
        f'| {PROBE} stdin; echo "REMOTES $(git remote | wc -l)"'
    )
    if "REMOTES 0" not in sight.text:
        return Finding("succeeded", f"a remote is configured: {sight.text[:200]}")
    return judge_sight(sight)


@attack("git-hooks", "git", "Hooks, templates and attributes hold code of the upstream", LAYOUT)
async def hooks(play: Play) -> Finding:
    """In the repository, and where git takes its templates from."""
    globs = "'*/.git/hooks' '*/git-core/templates' '*/.git/info' '*/.git/description'"
    return await play.leak(f"{PROBE} named {globs}")


@attack("git-nested-repositories", "git", "Another repository lies elsewhere on the disk", FETCHED)
async def nested(play: Play) -> Finding:
    """Bare ones too: by HEAD beside objects."""
    bare = "find / -name HEAD -not -path '/proc/*' 2>/dev/null | xargs -r -n1 dirname | sort -u"
    return await play.leak(f"{bare} | xargs -r {PROBE} files; {PROBE} named '*.git' '.git'")


@attack("git-lfs-store", "git", "LFS and annex keep large files apart from objects", LAYOUT)
async def lfs_store(play: Play) -> Finding:
    """Their folders in .git."""
    return await play.leak(f"{PROBE} named '*/.git/lfs' '*/.git/annex' '*/.git/svn' '*/.git/p4'")


@attack("git-other-systems", "git", "Another version control system's folder was left", LAYOUT)
async def other_systems(play: Play) -> Finding:
    """Mercurial, Subversion, Jujutsu and the like."""
    return await play.leak(f"{PROBE} named .hg .svn .bzr .jj .pijul _darcs CVS .fslckout .sl")
