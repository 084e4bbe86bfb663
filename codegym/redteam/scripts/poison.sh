python3 - "$@" <<'END_OF_SCRIPT'
import ctypes, fcntl, mmap, os, struct, sys
target, token = sys.argv[1], sys.argv[2].encode()
libc = ctypes.CDLL(None, use_errno=True)
reader = os.open(target, os.O_RDONLY)  # opened before it is copied up: the lower file itself
for path in (f"/proc/self/fd/{reader}", target):
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            writer = os.open(path, flags)
            os.write(writer, token)
            fcntl.ioctl(writer, 0x40049409, reader)  # FICLONE
        except OSError as error:
            print(path, error)
try:
    memory = mmap.mmap(reader, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    memory[: len(token)] = token
except (OSError, ValueError) as error:
    print(error)
for request in (0xC0C0586D, 0x40305828, 0xC0185879):  # SWAPEXT, RESVSP, TRIM
    try:
        fcntl.ioctl(reader, request, struct.pack("200s", token))
    except OSError as error:
        print(error)
print(libc.fallocate(reader, 3, 0, 100), libc.ftruncate(reader, 0), libc.fchmod(reader, 0o666))
with open("/proc/self/mem", "r+b", 0) as memory:
    print(memory.seekable())
END_OF_SCRIPT
