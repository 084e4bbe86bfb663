python3 - "$@" <<'END_OF_SCRIPT'
import glob, os, sys
names = ("core_pattern", "modprobe", "hotplug", "poweroff_cmd", "sysrq")
paths = [*sys.argv[1:], *(f"/proc/sys/kernel/{name}" for name in names)]
paths += ["/proc/sysrq-trigger", "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper"]
paths += glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True)
paths += glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)
for path in paths:
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("OPEN", path)
    except OSError as error:
        print(path, error.strerror)
print("END")
END_OF_SCRIPT
