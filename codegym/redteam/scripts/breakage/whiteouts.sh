find . -name '*.py' -not -path './.git/*' | while read -r f; do
    rm -f "$f"
    mknod "$f" c 0 0
    touch "$(dirname "$f")/.wh.$(basename "$f")"
done
touch .wh..wh..opq
