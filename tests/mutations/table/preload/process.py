"""Changes in preload/process/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
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
