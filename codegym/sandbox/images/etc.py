"""The generated ``/etc``: one user, no names of the host, no resolver."""

from __future__ import annotations

from collections.abc import Mapping

_PASSWD = """\
root:x:0:0:root:/root:/bin/bash
agent:x:1000:1000:agent:/home/agent:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/bin/false
"""

_GROUP = """\
root:x:0:
agent:x:1000:
nogroup:x:65534:
"""

_HOSTS = """\
127.0.0.1 localhost
127.0.1.1 box
::1 localhost ip6-localhost ip6-loopback
"""

_NSSWITCH = """\
passwd: files
group: files
shadow: files
hosts: files
services: files
protocols: files
"""

# The owner that the workspace seems to have depends on how it is mounted, and git minds.
_GITCONFIG = """\
[user]
\tname = agent
\temail = agent@box
[safe]
\tdirectory = *
[init]
\tdefaultBranch = main
[advice]
\tdetachedHead = false
"""

#: Path in the root to content.
TEXTS: Mapping[str, str] = {
    "etc/passwd": _PASSWD,
    "etc/group": _GROUP,
    "etc/hosts": _HOSTS,
    "etc/host.conf": "multi on\n",
    "etc/nsswitch.conf": _NSSWITCH,
    "etc/gitconfig": _GITCONFIG,
    "etc/shells": "/bin/sh\n/bin/bash\n",
    "etc/timezone": "UTC\n",
}

LINKS: Mapping[str, str] = {
    "etc/localtime": "../usr/share/zoneinfo/UTC",
    "etc/os-release": "../usr/lib/os-release",
    "etc/mtab": "../proc/self/mounts",
    "var/tmp": "../tmp",
    "var/run": "../run",
}

#: Mount points, and folders that programs expect to find.
FOLDERS = frozenset(
    {
        *("proc", "sys", "dev", "tmp", "run", "workspace", "root", "home/agent", "opt/venv"),
        *("usr/share/git-core/templates", "usr/local/bin", "usr/local/lib"),
    }
)
