"""README.md, the other pages of the top folder and docs/ keep their word: programs and figures are those of the tests
and result files, links lead somewhere, README.md is short, sentences are, too."""

import pathlib
import re
import subprocess
import sys

import prose

MOST_LINES = 120
MOST_CHARACTERS = 120
MOST_WORDS = 30
FOLDERS = "examples|tests|bench|src|blockvec|orth|solvers|cmake|include|docs|python|packaging"


def pages(root):
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("**/*.md"))]


def anchors(text):
    """The fragments by which GitHub's pages link to headings."""
    headings = [re.sub(r"^#+\s*", "", line) for line in prose.without_code(text) if re.match(r"#+\s", line)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(root, page, text):
    """Links and names of files in backquotes must lead to a file, links with a fragment to a heading."""
    found, prose_text = [], "\n".join(prose.without_code(text))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            found.append(f"links to {target}, which is not there")
        elif fragment and file.suffix == ".md" and fragment not in anchors(file.read_text(encoding="utf-8")):
            found.append(f"links to {target}, a heading that is not there")
    for name in re.findall(rf"`(?:\./)?((?:{FOLDERS})/[\w./*-]+)`", prose_text):
        if not list(root.glob(name.rstrip("/"))):
            found.append(f"names {name}, which is not there")
    return found


def hard_to_read(text, tables_too):
    """Lines that are too long (but for code and tables of docs/), and sentences that are."""
    found = []
    for number, line in enumerate(text.splitlines() if tables_too else prose.without_code(text), 1):
        exempt = not tables_too and (line.lstrip().startswith("|") or line.startswith("    "))
        if len(line) > MOST_CHARACTERS and not exempt:
            found.append(f"line {number} has {len(line)} characters, more than {MOST_CHARACTERS}")
    for number, paragraph in prose.paragraphs(text):
        for sentence in prose.sentences(paragraph):
            count = len(prose.words(sentence))
            if count > MOST_WORDS:
                found.append(f"line {number}: a sentence of {count} words, more than {MOST_WORDS}: {sentence[:60]} ...")
    return found


def first_page(root, text):
    """What README.md alone promises."""
    program = (root / "tests/house/consumer/use_orth.cpp").read_text(encoding="utf-8")
    found = []
    if len(text.splitlines()) > MOST_LINES:
        found.append(f"has {len(text.splitlines())} lines, more than {MOST_LINES}")
    blocks = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    if not blocks:
        found.append("shows no program")
    if [block for block in blocks if not program.endswith(block)]:
        found.append("shows a program that is not the one in tests/house/consumer/use_orth.cpp")
    table = subprocess.run(
        [sys.executable, "-B", root / "docs/figures/first_page_table.py"], capture_output=True, text=True
    )
    if table.returncode != 0:
        found.append("docs/figures/first_page_table.py failed: " + table.stderr)
    for row in table.stdout.splitlines():
        if row not in text.splitlines():
            found.append(f"lacks a row that docs/figures/first_page_table.py prints: {row}")
    for command in ("./examples/run", "./tests/run"):
        if command not in text:
            found.append(f"does not name {command}")
    return found


def problems(root):
    root, found = root.resolve(), []
    for page in pages(root):
        text, first = page.read_text(encoding="utf-8"), page.name == "README.md"
        wrong = hard_to_read(text, first) + broken_links(root, page, text) + (first_page(root, text) if first else [])
        found += [f"{page.relative_to(root)} {problem}" for problem in wrong]
    return found


if __name__ == "__main__":
    result = problems(pathlib.Path(sys.argv[1]))
    print("\n".join(result) or "README.md and docs/ are in order")
    sys.exit(1 if result else 0)
