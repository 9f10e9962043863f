"""The schemas of what is written as JSON, against the pages that say what it means: every field of a
schema is named on its page.

usage: schemas_test.py ROOT"""
import json
import re
import sys
from pathlib import Path

PAGES = {"report.schema.json": "report-format.md", "comparison.schema.json": "report-format.md",
         "gate.schema.json": "gate.md", "plan.schema.json": "plan.md", "profile.schema.json": "profile-format.md"}


def fields(schema):
    """The names of all properties, wherever they are."""
    if isinstance(schema, list):
        return set().union(*map(fields, schema))
    if not isinstance(schema, dict):
        return set()
    inner = set().union(*map(fields, schema.values()))
    return inner | set(schema["properties"]) if isinstance(schema.get("properties"), dict) else inner


def main():
    docs = Path(sys.argv[1]) / "docs"
    wrong = [f"docs/{name}: there, but no page is named for it"
             for name in sorted({path.name for path in docs.glob("*.schema.json")} - set(PAGES))]
    for schema, page in PAGES.items():
        quoted = " ".join(re.findall(r"`([^`]*)`", (docs / page).read_text()))
        named = set(re.findall(r"\w+", quoted)) | set(re.findall(r"[\w-]+", quoted))
        found = fields(json.loads((docs / schema).read_text()))
        if not found:
            wrong.append(f"docs/{schema}: no fields")
        wrong += [f"docs/{page}: does not name `{name}`, a field of {schema}" for name in sorted(found - named)]
    print("\n".join(wrong) or "every field is named")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
