"""Changes in preload/process/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("room-of-a-vfork-stays", "preload/process/room.c",
      "        watch(room);",
      "        (void)watch;",
      "each child by vfork that is given a large environment leaves memory in its parent",
      "unbreakable.family"),
    M("too-large-is-refused", "preload/process/exec.c",
      "status < 0 && errno == E2BIG",
      "0",
      "a program is not started that would have been without the recorder's settings",
      "unbreakable.family"),
    M("environment-on-the-stack", "preload/process/follow.h",
      "    void *small[120];",
      "    void *small[4000];",
      "starting a program takes 32 KiB of a stack that has 16",
      "unbreakable.small_stacks"),
    M("preload-of-others-dropped", "preload/process/follow.c",
      """    if (plan->preload && plan->preload[0])
        stpcpy(stpcpy(end, ":"), plan->preload);
""",
      """    *end = '\\0';
""",
      "a child that is given libraries to preload loses them",
      "unbreakable.family"),
    M("execle-forgets-environment", "preload/process/exec.c",
      """    char *const *envp = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, argv, envp);""",
      """    va_end(rest);
    return execve(path, argv, environ);""",
      "execle passes its caller's environment on instead of the one given",
      "unbreakable.family"),
]
