"""Changes in tools/xferscope/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("record-signal-swallowed", "tools/xferscope/child.c",
      "    return by_process && info->si_pid != child;",
      "    return by_process && info->si_pid == child;",
      "a signal sent to record never reaches the program",
      "e2e.record"),
    M("record-mask-stays", "tools/xferscope/child.c",
      """    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp""",
      "    execvp",
      "the program starts with signals blocked",
      "e2e.record"),
    M("record-output-suffix", "tools/xferscope/record.c",
      'strcmp(name + length - 4, ".xft") == 0',
      'strcmp(name + length - 4, ".xft") != 0',
      "-o run.xft records in run.xft.xft",
      "e2e.record"),
    M("record-not-found-status", "tools/xferscope/record.c",
      "result->exec_error == ENOENT ?",
      "result->exec_error == EACCES ?",
      "scripts cannot tell a missing program from one that may not run",
      "e2e.record"),
]
