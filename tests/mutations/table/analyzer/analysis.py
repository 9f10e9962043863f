"""Changes in analyzer/analysis/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("survey-of-sampled", "analyzer/analysis/survey.c",
      "    analysis->undivided = analysis->undivided || process->sampled;",
      "    analysis->undivided = analysis->undivided || process->minor < 0;",
      "where device times were recorded of some transfers several ranks know fewer than one process",
      "analyzer-survey_test"),
    M("survey-of-messages", "analyzer/analysis/survey.c",
      "    analysis->undivided = analysis->undivided || has_messages(analysis, process);",
      "    has_messages(analysis, process);",
      "several ranks match the messages of their own processes alone",
      "analyzer-survey_test"),
    M("survey-waits-in-any-order", "analyzer/analysis/survey.c",
      "    xfa_waits_taken(&analysis->waits);",
      "    if (!team)\n        xfa_waits_taken(&analysis->waits);",
      "by several ranks waits come in another order than by one process",
      "analyzer-survey_test"),
]
