"""Changes in analyzer/analysis/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("survey-of-sampled", "analyzer/analysis/survey.c",
      "    analysis->undivided = analysis->undivided || process->sampled;",
      "    analysis->undivided = analysis->undivided || process->minor < 0;",
      "where device times were recorded of some transfers several ranks know fewer than one process",
      "analyzer-survey_test"),
    M("survey-without-room", "analyzer/analysis/survey.c",
      "            undivided = undivided || !(filled[i] < 1);",
      "            undivided = undivided || filled[i] > 1;",
      "of more rows of messages than there is room for several ranks leave out others than one process",
      "analyzer-survey_messages_test"),
    M("survey-of-own-messages", "analyzer/analysis/survey.c",
      "    xfa_messages_take(&analysis->messages, &from);",
      "    if (rank == analysis->run->team->rank)\n        xfa_messages_take(&analysis->messages, &from);",
      "several ranks match the messages of their own processes alone",
      "analyzer-survey_messages_test"),
    M("survey-waits-in-any-order", "analyzer/analysis/survey.c",
      "    xfa_waits_taken(&analysis->waits);",
      "    if (!team)\n        xfa_waits_taken(&analysis->waits);",
      "by several ranks waits come in another order than by one process",
      "analyzer-survey_test"),
]
