"""The programs a root layer has. Everything else of the host stays outside."""

from __future__ import annotations

#: Where the host's programs are looked for, in this order.
FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")

SHELLS = "bash sh dash rbash"

COREUTILS = """
    [ arch b2sum base32 base64 basename basenc cat chcon chgrp chmod chown cksum comm cp csplit cut
    date dd df dir dircolors dirname du echo env expand expr factor false fmt fold groups head
    hostid id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup
    nproc numfmt od paste pathchk pinky pr printenv printf ptx pwd readlink realpath rm rmdir seq
    sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split stat stdbuf stty
    sum sync tac tail tee test timeout touch tr true truncate tsort tty uname unexpand uniq unlink
    users vdir wc who whoami yes
"""

TEXT = "grep egrep fgrep sed awk mawk gawk diff cmp diff3 sdiff patch less column rev hexdump"

FILES = """
    find xargs tar gzip gunzip zcat zcmp zdiff zgrep bzip2 bunzip2 bzcat xz unxz xzcat which
    hostname
"""

PROCESSES = "ps kill pgrep pkill getopt setsid flock"

GIT = "git git-receive-pack git-upload-archive git-upload-pack"

#: Names of programs, each copied where the host has it.
PROGRAMS = tuple(f"{SHELLS} {COREUTILS} {TEXT} {FILES} {PROCESSES} {GIT}".split())

#: Without these there is no use in starting: the shell, what the sandbox's own calls use, git.
REQUIRED = (
    *("bash", "sh", "env", "cat", "chmod", "dirname", "head", "mkdir", "rm", "ls", "true"),
    *("grep", "sed", "find", "git"),
)

#: Parts of git's own folder: what its subcommands in shell need. The rest is inside ``git``.
GIT_CORE = (
    *("git-bisect", "git-merge-octopus", "git-merge-one-file", "git-merge-resolve"),
    *("git-sh-i18n", "git-sh-i18n--envsubst", "git-sh-setup", "git-submodule"),
)

#: Other files of the host, copied where they are there.
EXTRA_FILES = (
    *("/etc/protocols", "/etc/services"),
    *("/usr/lib/os-release", "/usr/share/zoneinfo/UTC"),
    *("/usr/libexec/coreutils/libstdbuf.so", "/usr/lib/coreutils/libstdbuf.so"),
)

#: The locale of older C libraries; newer ones have it built in.
LOCALE_FOLDERS = ("/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8")

TERMINALS = ("ansi", "dumb", "linux", "screen", "vt100", "xterm", "xterm-256color")
TERMINFO_FOLDERS = ("/usr/share/terminfo", "/lib/terminfo", "/etc/terminfo")

#: Loaded by name while a program runs, so that no program lists them.
PLUGIN_LIBRARIES = ("libgcc_s.so.1", "libnss_files.so.2")

#: What a wheel with compiled modules may count on, by the rules it was built to (manylinux).
WHEEL_LIBRARIES = (
    *("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1"),
    *("libgcc_s.so.1", "libstdc++.so.6"),
)
