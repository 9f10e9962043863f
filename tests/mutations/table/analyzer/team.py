"""Changes in analyzer/team/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("team-of-different-arguments", "analyzer/team/mpi_team.c",
      "xfa_team_agrees(team, command.bytes, command.count)",
      "xfa_team_agrees(team, command.bytes, 0)",
      "ranks that were to analyze different runs analyze one, or wait for each other for ever",
      "net.team"),
    M("team-of-versions", "analyzer/team/mpi_team.c",
      "memcmp(all[other].text, all[0].text, sizeof own.text) == 0",
      "all[other].text[0] == all[0].text[0]",
      "ranks of different versions add up what they have played",
      "net.team"),
    M("team-is-a-screen", "analyzer/team/mpi_team.c",
      "    if (!isatty(STDOUT_FILENO) || pipe(ends) != 0)",
      "    if (isatty(STDOUT_FILENO) || pipe(ends) != 0)",
      "a report by mpirun in a file has colours, and is but its first screen",
      "net.team"),
    M("team-dies-in-silence", "analyzer/team/mpi_team.c",
      "    (void)!write(STDERR_FILENO, line, sizeof line - 1);",
      "    (void)line;",
      "when a rank is killed nothing says why there is no report",
      "net.team"),
]
