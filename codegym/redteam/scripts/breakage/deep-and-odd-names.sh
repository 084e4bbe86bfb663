python3 - <<'X'
import os
for n in range(2000):
    try:
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    except OSError:
        break
os.chdir("/workspace")
names = (b"\xff.py", b"a\nb.py", b"\x1b[2J.py", "e\u0301.py".encode(), b"A.PY", b"a.py", b".. .py")
for name in (*names, b"con", b"-rf", b"README.MD", b"n" * 255):
    open(name, "wb").close()
X
