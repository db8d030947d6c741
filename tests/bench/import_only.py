"""A program: imports the modules that a JSON file lists, says so, and ends. The floor of a cold start."""

import importlib
import json
import sys

if __name__ == "__main__":
    with open(sys.argv[1]) as names:  # noqa: PTH123 - the floor loads nothing that it does not have to
        for name in json.load(names):
            importlib.import_module(name)
    sys.stdout.write("imported\n")
    sys.stdout.flush()
