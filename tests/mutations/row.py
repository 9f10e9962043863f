"""How a row of tests/mutations/table/COMPONENT.py reads. A component is a folder of the sources: changes of
files in analyzer/findings/ stand in table/analyzer/findings.py; a new file there is found by its place. A long table has
parts: table/analyzer/whatif/changes/_overlap.py is one of table/analyzer/whatif/changes.py.

    M("sign-turned", "analyzer/COMPONENT/FILE.c",     its name, once in all tables, and the file
      "text as it is there, once",               enough of it to stand in the file once
      "text that is put there instead",          it still builds, without a warning too many
      "what a user would see of the mistake",    in the words that `run --list` prints
      "ctest.name"),                             the test that fails then"""
from collections import namedtuple

M = namedtuple("M", "name file old new does test")
