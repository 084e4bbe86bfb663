for f in a.py b.py /tmp/c; do
    truncate -s 100G $f || truncate -s 200M $f
done
for n in $(seq 200); do truncate -s 60M s$n.py; done
