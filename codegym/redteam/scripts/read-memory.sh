python3 - "$@" <<'END_OF_SCRIPT'
import ctypes, os, sys
libc = ctypes.CDLL(None)
class Iov(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
for pid in sys.argv[1:] or filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid():
        continue
    try:
        lines = open(f"/proc/{pid}/maps").readlines()
    except OSError:
        continue
    for line in lines:
        span, mode = line.split()[:2]
        begin, end = (int(side, 16) for side in span.split("-"))
        size = min(end - begin, 1 << 25)
        if mode[0] != "r" or line.rstrip().endswith("[vvar]"):
            continue
        data = ctypes.create_string_buffer(size)
        here, there = Iov(ctypes.addressof(data), size), Iov(begin, size)
        got = libc.process_vm_readv(int(pid), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        if got > 0:
            sys.stdout.buffer.write(data.raw[:got])
END_OF_SCRIPT
