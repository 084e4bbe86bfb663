find . -name '*.py' -not -path './.git/*' | while read -r f; do
    ln -sf /proc/self/environ "$f"
done
ln -s . loop
ln -s /etc/passwd p.py
ln -s ../../../../etc/passwd q.py
ln -s / root
ln README.md hard.md
