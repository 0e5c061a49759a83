"""The files about the project keep their form, and agree with one another.

project_files.py ROOT

CHANGELOG.md has the form of Keep a Changelog, CITATION.cff the version of version.hpp, REUSE.toml a text for each licence
that it names, docs/policies.md one row a policy. Where reuse (4 or newer) and cffconvert are there, they judge, too.
"""

import pathlib
import re
import shutil
import subprocess
import sys

CHANGES = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def read(path):
    return path.read_text(encoding="utf-8")


def version(root):
    return tuple(int(n) for n in re.findall(r"BLOCKVEC_VERSION_\w+ (\d+)", read(root / "include/blockvec/version.hpp")))


def wrong_changelog(text, current):
    """Unreleased on top, then versions with their days, descending; none is newer than the current one."""
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    if not headings or headings[0] != "Unreleased":
        yield "CHANGELOG.md: the first heading is not Unreleased"
    versions = []
    for heading in headings[1:]:
        match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+) - \d{4}-\d\d-\d\d", heading)
        if match:
            versions.append(tuple(int(number) for number in match.groups()))
        else:
            yield f"CHANGELOG.md: the heading {heading!r} is no version with its day"
    if versions != sorted(versions, reverse=True):
        yield "CHANGELOG.md: versions do not descend"
    if versions and versions[0] > current:
        yield f"CHANGELOG.md: {versions[0]} is newer than version.hpp"
    for heading in re.findall(r"^### (.*)$", text, re.MULTILINE):
        if heading not in CHANGES:
            yield f"CHANGELOG.md: {heading} is not one of {', '.join(CHANGES)}"


def wrong_citation(text, current):
    """The fields that version 1.2.0 of the format asks for, and the current version."""
    fields = dict(re.findall(r"^([a-z-]+):[ \t]*(.*)$", text, re.MULTILINE))
    for field in ("cff-version", "message", "title", "authors", "version", "license"):
        if field not in fields:
            yield f"CITATION.cff: no {field}"
    if fields.get("cff-version") != "1.2.0":
        yield "CITATION.cff: its format is not 1.2.0"
    if fields.get("version") != ".".join(map(str, current)):
        yield f"CITATION.cff: version {fields.get('version')} is not that of version.hpp"


def wrong_licences(root):
    names = set(re.findall(r'SPDX-License-Identifier = "([^"]+)"', read(root / "REUSE.toml")))
    texts = {path.stem for path in (root / "LICENSES").iterdir()}
    if names != texts:
        yield f"REUSE.toml names {sorted(names)}, LICENSES has {sorted(texts)}"
    if read(root / "LICENSE") != read(root / "LICENSES/BSD-3-Clause.txt"):
        yield "LICENSE and LICENSES/BSD-3-Clause.txt differ"


def wrong_policies(text):
    rows = re.findall(r"^\| ([MR]\d+) \| [^|]+ \| (yes|in part|no) \| [^|]+ \|$", text, re.MULTILINE)
    expected = [f"M{n}" for n in range(1, 18)] + [f"R{n}" for n in range(1, 9)]
    if [name for name, _ in rows] != expected:
        yield "docs/policies.md does not have one row for each policy, M1 to M17 and R1 to R8"


def wrong_by_tools(root):
    """What the tools of these formats find; they are not asked where they are not there."""
    reuse = shutil.which("reuse")
    if reuse:
        number = subprocess.run([reuse, "--version"], capture_output=True, text=True).stdout
        match = re.search(r"(\d+)\.\d+", number)
        if match and int(match[1]) >= 4 and (root / ".git").exists():
            answer = subprocess.run([reuse, "--root", root, "lint", "--quiet"], capture_output=True, text=True)
            if answer.returncode:
                yield "reuse lint finds files without a licence"
            print("reuse lint was asked")
    cffconvert = shutil.which("cffconvert")
    if cffconvert:
        command = [cffconvert, "--validate", "-i", root / "CITATION.cff"]
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode:
            yield "cffconvert: " + (answer.stdout + answer.stderr).strip().splitlines()[-1]
        print("cffconvert was asked")


def wrong_debian(root, current):
    """Debian's changelog has the current version, and its library packages the name that programs ask for."""
    changelog, control = read(root / "packaging/debian/changelog"), read(root / "packaging/debian/control")
    newest = re.match(r"blockvec \(([\d.]+)-", changelog)
    if not newest or newest[1] != ".".join(map(str, current)):
        yield "packaging/debian/changelog does not begin with the version of version.hpp"
    name = ".".join(map(str, current[:2])) if current[0] == 0 else str(current[0])
    for package in re.findall(r"^Package: (lib\S*)$", control, re.MULTILINE):
        if package != "libblockvec-dev" and not re.fullmatch(rf"[a-z-]+{re.escape(name)}", package):
            yield f"packaging/debian/control: {package} does not end in {name}"


def problems(root):
    current = version(root)
    return [
        *wrong_changelog(read(root / "CHANGELOG.md"), current),
        *wrong_citation(read(root / "CITATION.cff"), current),
        *wrong_licences(root),
        *wrong_debian(root, current),
        *wrong_policies(read(root / "docs/policies.md")),
        *wrong_by_tools(root),
    ]


if __name__ == "__main__":
    found = problems(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) or "The files about the project are in order")
    sys.exit(1 if found else 0)
