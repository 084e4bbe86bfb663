"""The launcher: one small process per gym process, from which every bubblewrap sandbox is started.

It runs as its own interpreter (``python -I -S``) and imports the standard library only, never
anything of ``codegym``. It lives in a private user, mount, process and IPC namespace, as the first
process of that namespace, under an unprivileged user id (under root: a dedicated one):

- what it mounts is seen by nobody else, and is gone with it;
- when the gym process ends, however it ends, the socket closes, the launcher exits, and the kernel
  kills every sandbox and drops every mount: nothing is left behind, also after ``kill -9``;
- it is small, so starting a process from it is cheap.

Files: ``namespace`` (getting in), ``syscalls`` (the few the standard library lacks), ``cgroup``
(hard limits where they can be had), ``alias`` (layers under random names), ``box`` (one sandbox),
``listening`` (its one way out), ``copying`` (fork), ``transfer`` (reading a policy's work as data),
``serve`` (requests).
"""
