# SPDX-License-Identifier: Apache-2.0
"""Lists the public declarations of modules from their symbol graphs, and compares them with a recorded list.

Called by Scripts/check-api:  api_list.py GRAPHS RECORD --accept|'' TOOLCHAIN MODULE...
"""

import glob
import json
import os
import sys

# What a reader of the documentation's first page has to look through.
MOST_TYPES = {"Martlet": 40}


def text(symbol):
    """The declaration in one line, as in the sources, without default values' texts."""
    return " ".join("".join(part["spelling"] for part in symbol["declarationFragments"]).split())


def listed(graphs, module):
    """A line for each public declaration and conformance of a module, sorted."""
    lines = set()
    for path in sorted(glob.glob(os.path.join(graphs, f"{module}.symbols.json"))
                       + glob.glob(os.path.join(graphs, f"{module}@*.symbols.json"))):
        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        names = {symbol["identifier"]["precise"]: ".".join(symbol["pathComponents"]) for symbol in graph["symbols"]}
        required = {link["source"] for link in graph["relationships"] if link["kind"] == "requirementOf"}
        given = {link["target"] for link in graph["relationships"] if link["kind"] == "defaultImplementationOf"}
        for symbol in graph["symbols"]:
            identifier = symbol["identifier"]["precise"]
            # A requirement without a default implementation has to be written by every conforming type.
            kind = "requirement " if identifier in required and identifier not in given else ""
            lines.add(f"{names[identifier]}: {kind}{text(symbol)}")
        for link in graph["relationships"]:
            if link["kind"] in ("conformsTo", "inheritsFrom"):
                target = link.get("targetFallback") or names.get(link["target"], link["target"])
                name = names.get(link["source"])
                # The compiler adds these three.
                if name and target not in ("Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype"):
                    lines.add(f"{name}: is {target}")
    return sorted(lines)


def breaks(line):
    """Whether a new line breaks sources: a requirement to implement, or a case for every exhaustive switch."""
    declaration = line.split(": ", 1)[1]
    return declaration.startswith("requirement ") or declaration.startswith("case ")


def main():
    graphs, record, mode, toolchain, modules = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]
    heading = "# The public interface (Scripts/check-api), as the compiler of " + toolchain + " writes it"
    differs = broken = 0
    is_same = True
    crowded = []
    for module in modules:
        path = os.path.join(record, module + ".txt")
        now = listed(graphs, module)
        before = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                first, *before = file.read().splitlines()
            is_same = is_same and first == heading
        types = sum(1 for line in now if "." not in line.split(":")[0] and not line.split(": ", 1)[1].startswith("is "))
        removed, added = [l for l in before if l not in set(now)], [l for l in now if l not in set(before)]
        # The record begins with the first list.
        breaking = removed + [line for line in added if before and breaks(line)]
        for line in removed:
            print(f"- {module}: {line}")
        for line in added if before else []:
            print(f"+ {module}: {line}" + ("   (breaks sources)" if breaks(line) else ""))
        differs, broken = differs + len(removed) + len(added), broken + len(breaking)
        print(f"{module}: {types} public types and functions, {len(now)} declarations")
        if types > MOST_TYPES.get(module, types):
            crowded.append(f"{module} has {types} public types at its top level, more than {MOST_TYPES[module]}: make one of "
                           "them internal, or a part of the type that it belongs to")
        if mode == "--accept":
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join([heading] + now) + "\n")
    if crowded:
        print("\n".join(f"api: {line}" for line in crowded))
        return 1
    if mode == "--accept" or differs == 0:
        print(f"api: {differs} changes recorded" if differs else "api: as recorded")
        return 0
    if not is_same:
        print(f"api: {differs} differences from the record of another toolchain, which may be the compiler's: not judged")
        return 0
    print(f"api: {differs} changes, {broken} of which break sources that compiled before. If they are meant, run "
          "Scripts/check-api --accept and commit Docs/API with the change" + (", and name them in CHANGELOG.md" if broken else ""))
    return 1


sys.exit(main())
