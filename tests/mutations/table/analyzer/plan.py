"""Changes in analyzer/plan/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("plan-streams-of-fills", "analyzer/plan/plan_of.c",
      "        if (is_for(step->by, &finding->sites[i]))\n            step->sites",
      "        if (finding)\n            step->sites",
      "a plan names work that nothing can be done about",
      "apply.streams"),
]
