"""The audit: is anything in a task's sandbox that gives an answer away?

How it is made complete: the agent's sandbox is started as a reset starts it, and a payload inside,
which is told nothing of what is looked for, lists every path from ``/`` with the hash of its
content, and what has no path: what ``/proc`` says of each process, descriptors that no path leads
to, writable memory. Each content is then fetched once, as data, and looked through outside. So what
is audited is what a process inside can open, on any backend, whatever it was mounted from; the one
thing that is believed is the image's own Python, which no agent has touched.

What is looked for (``needles``) comes from the tasks' own trees: a marker planted in the gold
patch, lines that only gold has, hidden tests, deleted symbols, rows, and functions by shape; of the
task itself and of all others of its source. What stands openly in the files that a policy is given
tells it nothing and is no finding, nor is a line that the standard library has, too.
"""

from codegym.redteam.audit.run import AuditReport, Leak, audit

__all__ = ["AuditReport", "Leak", "audit"]
