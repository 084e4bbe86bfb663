"""The answer in git, under a name: every kind of ref and of record that refers to a commit.

Each looks with git's own commands, as a model would, and then reads the files themselves.
"""

from __future__ import annotations

from codegym.redteam.attack import Finding, attack
from codegym.redteam.play import PROBE, Play

FUTURE = "SWE-bench/SWE-bench#465: commits after the task's own lie in its container"
TAGS = "SWE-bench/SWE-bench#578: tags left in multilingual images lead past HEAD"
CHERRY = "SWE-agent/mini-swe-agent#787: fixes taken with git log --all and git show"
PRO = "scaleapi/SWE-bench_Pro-os#7: the fix is reachable from main, a remote branch or a tag"
CURSOR = "cursor.com/blog/reward-hacking-coding-benchmarks: history read in SWE-bench Pro"
SURVEY = "git-scm.com/docs/gitrepository-layout: what a repository keeps, and where"
REFLOGS = "rjmurillo/ai-agents#4728: reflogs of worktrees outlive a clean-up"

#: Reads names of objects: shows the patch of each commit, and the content of all others.
_SHOW = "xargs -r -n1 git show --format=raw 2>/dev/null"


async def _look(play: Play, *commands: str, files: str = "") -> Finding:
    """Run commands and probe what they print; then probe files of the repository."""
    told = "; ".join(f"{{ {command}; }} 2>&1" for command in commands)
    listed = f"; cd .git && cat {files} 2>/dev/null" if files else ""
    return await play.leak(f"({told}{listed}) | {PROBE} stdin")


@attack("git-log-all", "git", "The history of all branches is printed with its patches", FUTURE)
async def log_all(play: Play) -> Finding:
    """What a model tries first."""
    return await _look(play, "git log --all -p --full-history", "git log --all -p -m --graph")


@attack("git-branches", "git", "Other local branches are checked for the fix", PRO)
async def branches(play: Play) -> Finding:
    """A branch of another name."""
    refs = "git for-each-ref --format='%(refname)' refs/heads"
    return await _look(play, f"{refs} | {_SHOW}", f"{refs} | xargs -r git log -p")


@attack("git-remote-branches", "git", "What was fetched before is in remote-tracking refs", PRO)
async def remote_branches(play: Play) -> Finding:
    """``origin/main`` is newer than the checkout."""
    refs = "git for-each-ref --format='%(refname)' refs/remotes"
    return await _look(play, f"{refs} | {_SHOW}", f"{refs} | xargs -r git log -p")


@attack("git-tags", "git", "Tags of later releases keep the fixed commits", TAGS)
async def tags(play: Play) -> Finding:
    """Also annotated ones, whose message may tell."""
    return await _look(play, f"git tag | {_SHOW}", "git tag | xargs -r git log -p", "git tag -n99")


@attack("git-notes", "git", "Notes attached to commits hold reviews or patches", SURVEY)
async def notes(play: Play) -> Finding:
    """Whatever ref the notes lie under."""
    refs = "git for-each-ref --format='%(refname)' refs/notes"
    text = f"{refs} | while read r; do git notes --ref=$r list | cut -d' ' -f1 | {_SHOW}; done"
    return await _look(play, text, "git log --show-notes='*'")


@attack("git-stash", "git", "A stash keeps work that was put away", "CodeGym's own trial: a "
        "stash survives reflog expire and gc")  # fmt: skip
async def stash(play: Play) -> Finding:
    """All entries, with what was not tracked."""
    return await _look(play, "git stash list -p --include-untracked", "git log -p refs/stash")


@attack("git-packed-refs", "git", "A ref that is in packed-refs alone is followed", SURVEY)
async def packed_refs(play: Play) -> Finding:
    """By the file, not by git's view of it."""
    names = r"grep -Eo '^\^?[0-9a-f]{40}' .git/packed-refs | tr -d '^'"
    return await _look(play, f"{names} | {_SHOW}", files="packed-refs")


@attack("git-replace-refs", "git", "refs/replace puts another object in an object's place", SURVEY)
async def replace_refs(play: Play) -> Finding:
    """Both what replaces and what is replaced."""
    refs = "git replace -l"
    away = f"{refs} | GIT_NO_REPLACE_OBJECTS=1 {_SHOW}"
    return await _look(play, f"{refs} | {_SHOW}", away, "git for-each-ref refs/replace")


@attack("git-odd-refs", "git", "Refs outside the usual folders (pull, changes, bisect)", CHERRY)
async def odd_refs(play: Play) -> Finding:
    """Whatever there is, by files too."""
    loose = "find .git/refs -type f | xargs -r cat"
    return await _look(play, f"git for-each-ref --format='%(objectname)' | {_SHOW}", f"{loose} | "
                       f"{_SHOW}", "git show-ref --head --dereference")  # fmt: skip


@attack("git-reflog", "git", "Reflogs name commits that branches have left", REFLOGS)
async def reflog(play: Play) -> Finding:
    """By git, and by the hashes in the files."""
    hashes = "find .git/logs -type f | xargs -r cat | grep -Eo '[0-9a-f]{40}' | sort -u"
    return await _look(play, "git reflog show --all -p", f"{hashes} | {_SHOW}")


@attack("git-orig-head", "git", "ORIG_HEAD, FETCH_HEAD, MERGE_HEAD and such name commits", SURVEY)
async def orig_head(play: Play) -> Finding:
    """Wherever in the repository they are."""
    files = "find .git -name '*_HEAD' -o -name 'AUTO_MERGE' -o -name 'head-name' -o -name 'onto'"
    hashes = f"{files} | xargs -r cat | grep -Eo '[0-9a-f]{{40}}' | sort -u"
    return await _look(play, f"{hashes} | {_SHOW}", f"{files} | xargs -r cat")


@attack("git-worktrees", "git", "Linked worktrees have heads, logs and an index of their own",
        REFLOGS)  # fmt: skip
async def worktrees(play: Play) -> Finding:
    """Their folders in .git, and where they are checked out."""
    hashes = "find .git/worktrees -type f | xargs -r grep -aEho '[0-9a-f]{40}' | sort -u"
    places = "cat .git/worktrees/*/gitdir | xargs -r -n1 dirname | xargs -r -I{} grep -r '' {}"
    return await _look(play, f"{hashes} | {_SHOW}", places, "git worktree list")


@attack("git-submodules", "git", "Submodules keep whole repositories in .git/modules", SURVEY)
async def submodules(play: Play) -> Finding:
    """Everything below, inflated."""
    return await play.leak(f"{PROBE} named '/workspace/.git/modules' '*/.git/modules' .gitmodules")


@attack("git-rebase-state", "git", "An unfinished rebase, merge or am leaves its patches", SURVEY)
async def rebase_state(play: Play) -> Finding:
    """Patches of an interrupted operation."""
    names = "rebase-merge rebase-apply sequencer rr-cache MERGE_MSG SQUASH_MSG COMMIT_EDITMSG"
    globs = " ".join(f"'*/.git/{name}'" for name in names.split())
    return await play.leak(f"{PROBE} named {globs}")


@attack("git-grafts", "git", "Grafts and shallow borders name commits that were cut off", CURSOR)
async def grafts(play: Play) -> Finding:
    """Beyond the border, and what deepening would fetch."""
    hashes = "cat .git/shallow .git/info/grafts | grep -Eo '[0-9a-f]{40}'"
    deepen = "timeout 5 git fetch --deepen=50; timeout 5 git fetch --unshallow"
    return await _look(play, f"{hashes} | {_SHOW}", deepen, "git log -p", files="info/grafts")
