python3 - "$@" <<'END_OF_SCRIPT'
import fcntl, os, termios
for path in ("/dev/tty", "/dev/console", "/dev/pts/0", "/proc/1/fd/0", "/proc/1/fd/2"):
    try:
        terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
        if os.isatty(terminal):
            print("OPEN", path)
            fcntl.ioctl(terminal, termios.TIOCSTI, b" ")
    except OSError as error:
        print(path, error.strerror)
print("END")
END_OF_SCRIPT
