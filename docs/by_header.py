#!/usr/bin/env python3
"""Makes of Doxygen's XML what the reference shows: one file a header, with all that the header declares.

by_header.py FOLDER     (the folder with index.xml; files are changed in place)

Doxygen lists the functions of a namespace with the namespace. Here each one moves to the file that declares it, under
its qualified name. Private members are left out. Members that share a comment stand together, and show it once.
Cost, errors and sources begin paragraphs of their own.
"""

import pathlib
import re
import sys
from xml.etree import ElementTree

SECTIONS = {"typedef": "typedef", "enum": "enum", "variable": "var", "function": "func"}
CLASS_SECTIONS = {
    "typedef": "public-type",
    "enum": "public-type",
    "variable": "public-attrib",
    "function": "public-func",
}
# What a reference does not show, and what would be declared once a header.
LEFT_OUT = ("includes", "includedby", "incdepgraph", "invincdepgraph", "innernamespace")

PARAGRAPH_BEGINS = re.compile(r"(?:Cost|Costs|Errors?|Memory|Throws|Sources?)\b")
PARAGRAPH = re.compile(rf"(?<=[.)\]]\s)(?={PARAGRAPH_BEGINS.pattern})")


def line(member):
    return int(member.find("location").get("line"))


def comment(member):
    return "".join("".join(member.find(tag).itertext()) for tag in ("briefdescription", "detaileddescription")).strip()


def say_once(members):
    """Of members that follow one another with one comment, the first keeps it."""
    previous = ""
    for member in members:
        text = comment(member)
        if text and text == previous:
            for tag in ("briefdescription", "detaileddescription"):
                for element in list(member.find(tag)):
                    member.find(tag).remove(element)
            ElementTree.SubElement(member.find("briefdescription"), "para").text = "As above."
        previous = text


def split(para):
    """A paragraph as several: cost, errors and sources begin new ones."""
    parts = [ElementTree.Element("para")]

    def add_text(text):
        for piece in PARAGRAPH.split(text or ""):
            if PARAGRAPH_BEGINS.match(piece) and (len(parts[-1]) or parts[-1].text):
                parts.append(ElementTree.Element("para"))
            last = parts[-1]
            if len(last):
                last[-1].tail = (last[-1].tail or "") + piece
            else:
                last.text = (last.text or "") + piece

    add_text(para.text)
    for child in list(para):
        tail, child.tail = child.tail, None
        parts[-1].append(child)
        add_text(tail)
    return parts


def split_paragraphs(description):
    for number, para in reversed(list(enumerate(description))):
        if para.tag == "para":
            description.remove(para)
            for part in reversed(split(para)):
                description.insert(number, part)


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
        members.sort(key=line)
    return found


def add_sections(compound, members, sections):
    """Sections before the compound's description, one for each kind of members."""
    place = list(compound).index(compound.find("briefdescription"))
    by_section = {}
    for member in sorted(members, key=line):
        section = sections[member.get("kind")]
        if member.get("static") == "yes" and section != "func":
            section = section.replace("public", "public-static")
        by_section.setdefault(section, []).append(member)
    for section, of_section in by_section.items():
        say_once(of_section)
        element = ElementTree.Element("sectiondef", kind=section)
        element.extend(of_section)
        compound.insert(place, element)
        place += 1


def name_files_by_path(folder, paths):
    """Newer versions of Breathe find a file by its name in the index."""
    index = ElementTree.parse(folder / "index.xml")
    for compound in index.getroot().findall("compound"):
        if compound.get("refid") in paths:
            compound.find("name").text = paths[compound.get("refid")]
    index.write(folder / "index.xml", encoding="utf-8", xml_declaration=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    paths = {}
    of_namespaces = members_by_file(folder)
    for path in sorted(folder.glob("*.xml")):
        tree = ElementTree.parse(path)
        compound = tree.getroot().find("compounddef")
        kind = compound.get("kind") if compound is not None else ""
        for element in compound.findall("innerclass") if compound is not None else ():
            if element.get("prot") != "public":
                compound.remove(element)
        if kind == "file":
            for tag in LEFT_OUT:
                for element in compound.findall(tag):
                    compound.remove(element)
            file = paths[compound.get("id")] = compound.find("location").get("file")
            add_sections(compound, [m for m in of_namespaces.get(file, []) if m.get("kind") in SECTIONS], SECTIONS)
        elif kind in ("class", "struct"):
            members = [member for member in compound.iter("memberdef") if member.get("prot") == "public"]
            for section in compound.findall("sectiondef"):
                compound.remove(section)
            add_sections(compound, [m for m in members if m.get("kind") in CLASS_SECTIONS], CLASS_SECTIONS)
        else:
            continue
        for description in compound.iter("detaileddescription"):
            split_paragraphs(description)
        tree.write(path, encoding="utf-8", xml_declaration=True)
    name_files_by_path(folder, paths)


if __name__ == "__main__":
    main()
