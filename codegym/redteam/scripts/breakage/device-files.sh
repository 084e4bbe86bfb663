find . -name '*.py' -not -path './.git/*' | while read -r f; do
    rm -f "$f"
    mkfifo "$f"
done
mknod null c 1 3
mknod disk b 8 0
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s.py")'
