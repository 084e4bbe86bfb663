python3 - <<'X' &
import ctypes, time
print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))
time.sleep(3600)
X
sleep 0.5
