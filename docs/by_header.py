#!/usr/bin/env python3
"""Sorts Doxygen's XML by header, so that one directive of Breathe shows all that a header declares.

by_header.py FOLDER     (the folder with index.xml; files are changed in place)

Doxygen lists the functions of a namespace with the namespace. Here each one moves to the file that declares it, under
its qualified name.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree

SECTIONS = {"typedef": "typedef", "enum": "enum", "variable": "var", "function": "func"}
# What a reference does not show, and what would be declared once a header.
LEFT_OUT = ("includes", "includedby", "incdepgraph", "invincdepgraph", "innernamespace")


def members_by_file(folder):
    """The members of all namespaces, in the order of their lines, for each header."""
    found = {}
    for path in sorted(folder.glob("namespace*.xml")):
        compound = ElementTree.parse(path).getroot().find("compounddef")
        namespace = compound.findtext("compoundname")
        for member in compound.iter("memberdef"):
            member.find("name").text = f"{namespace}::{member.findtext('name')}"
            initializer = member.find("initializer")
            if initializer is not None and "requires" in "".join(initializer.itertext()):
                member.remove(initializer)  # Sphinx cannot read such an expression
            found.setdefault(member.find("location").get("file"), []).append(member)
    for members in found.values():
        members.sort(key=lambda member: int(member.find("location").get("line")))
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    members = members_by_file(folder)
    for path in sorted(folder.glob("*_8hpp.xml")):
        tree = ElementTree.parse(path)
        compound = tree.getroot().find("compounddef")
        for tag in LEFT_OUT:
            for element in compound.findall(tag):
                compound.remove(element)
        place = list(compound).index(compound.find("briefdescription"))
        for kind, section in SECTIONS.items():
            of_kind = [m for m in members.get(compound.find("location").get("file"), []) if m.get("kind") == kind]
            if of_kind:
                element = ElementTree.Element("sectiondef", kind=section)
                element.extend(of_kind)
                compound.insert(place, element)
                place += 1
        tree.write(path, encoding="utf-8", xml_declaration=True)


if __name__ == "__main__":
    main()
