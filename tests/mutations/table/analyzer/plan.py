"""Changes in analyzer/plan/; tests/mutations/row.py says how a row reads."""
from row import M

ROWS = [
    M("plan-remote-for-several-nodes", "analyzer/plan/plan_remote.c",
      "    return wanted.mixed;",
      "    return false;",
      "memory that GPUs of several nodes copy is moved to one",
      "apply.placement"),
    M("plan-remote-once", "analyzer/plan/plan_remote.c",
      "cost.moved_bytes * XFA_MOVING_NS_PER_BYTE)",
      "0)",
      "memory is moved for a single copy",
      "apply.placement"),
    M("plan-remote-all", "analyzer/plan/plan_remote.c",
      "        cost.saved_ns +=\n",
      "        cost.saved_ns +=\n            (double)size->copies *\n",
      "a plan promises more than the profile's figures of both nodes say",
      "apply.placement"),
    M("plan-streams-of-fills", "analyzer/plan/plan_of.c",
      "        if (is_for(step->by, &finding->sites[i]))\n            step->sites",
      "        if (finding)\n            step->sites",
      "a plan names work that nothing can be done about",
      "apply.streams"),
]
