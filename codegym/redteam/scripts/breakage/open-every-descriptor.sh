python3 - <<'X' &
import os, time
held = []
try:
    while True:
        held.append(os.open("/", 0))
except OSError:
    time.sleep(3600)
X
sleep 1
