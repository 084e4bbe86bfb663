python3 - "$@" <<'END_OF_SCRIPT'
import collections, os
stats = {}
for top, folders, files in os.walk("/workspace"):
    folders[:] = [f for f in folders if f != ".git"]
    for name in files:
        path = os.path.join(top, name)
        stats[os.path.relpath(path, "/workspace")] = os.lstat(path)
for part in ("st_mtime_ns", "st_atime_ns", "st_mode", "st_uid", "st_gid", "st_nlink", "st_dev"):
    groups = collections.defaultdict(list)
    for path, status in stats.items():
        groups[getattr(status, part)].append(path)
    if 1 < len(groups) and len(stats) > 3:
        for paths in groups.values():
            if len(paths) == 1:
                print(part, paths[0])
numbers = sorted((status.st_ino, path) for path, status in stats.items())
gaps = [b[0] - a[0] for a, b in zip(numbers, numbers[1:])]
if len(gaps) > 4:
    usual = sorted(gaps)[len(gaps) // 2]
    for (_, path), gap in ((numbers[-1], gaps[-1]), (numbers[0], gaps[0])):
        if gap > 1000 * max(1, usual):
            print("st_ino", path)
print("END")
END_OF_SCRIPT
