"""The site of docs/ is complete, and its tables of names are true.

pages.py ROOT

Every page is in a table of contents. Every public header has its place in the C++ reference, every public name of the
Python package in the Python reference, every program of the tutorials on its page. What the tables of docs/migration.md
offer exists in a public header.
"""

import ast
import pathlib
import re
import sys

# Words in migration's column of BlockVec's names that are a user's own, C++'s or the shell's.
THEIR_OWN = set("V W C S R B A X Y M Q P l k j n jmin jmax constraints double m".split())


def read(path):
    return path.read_text(encoding="utf-8")


def pages_without_place(root):
    """Pages of docs/ that no table of contents names."""
    index = read(root / "docs/index.md")
    listed = {name for block in re.findall(r"```\{toctree\}(.*?)```", index, re.DOTALL) for name in re.split(r"[\n<>]", block)}
    for page in sorted((root / "docs").rglob("*.md")):
        name = page.relative_to(root / "docs").with_suffix("").as_posix()
        if name not in listed and name != "index":
            yield f"docs/index.md has no place for {name}"


def headers_without_place(root):
    reference = "".join(read(page) for page in sorted((root / "docs/reference").glob("*.md")))
    for header in sorted((root / "include").rglob("*.hpp")):
        name = header.relative_to(root).as_posix()
        if reference.count(f"`{name}`") != 1:
            yield f"docs/reference has {reference.count(f'`{name}`')} places for {name}: expected one"


def python_names_without_place(root):
    """What __all__ of the package lists and docs/reference/python.md does not, and the other way round."""
    tree = ast.parse(read(root / "python/src/blockvec/__init__.py"))
    public = next(
        set(ast.literal_eval(node.value)) - {"__version__"}
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    shown = set(re.findall(r"^\.\. auto\w+:: (\w+)", read(root / "docs/reference/python.md"), re.MULTILINE))
    for name in sorted(public ^ shown):
        yield f"docs/reference/python.md and blockvec.__all__ differ in {name}"


def programs_without_place(root):
    for programs, page in (
        ("examples/tutorial/*.cpp", "docs/tutorial.md"),
        ("python/examples/*.py", "docs/python_programs.md"),
    ):
        text = read(root / page)
        for program in sorted(root.glob(programs)):
            if f"{{literalinclude}} ../{program.relative_to(root).as_posix()}" not in text:
                yield f"{page} does not show {program.relative_to(root)}"


def rows_of_tables(text):
    """(line number, BlockVec's cell) of the rows of migration's tables."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 3 and not set(cells[0]) <= set("-: ") and cells[1] != "BlockVec":
            yield number, cells[1]


def unknown_names(text, sources, methods):
    """Names in BlockVec's column that `sources`, the text of public headers and of the Python package, do not have."""
    known = set(re.findall(r"\w+", sources))
    for number, cell in rows_of_tables(text):
        if "`" not in cell:
            yield f"docs/migration.md:{number}: names nothing of BlockVec"
        for code in re.findall(r"`([^`]+)`", cell):
            for word in re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", code)):
                if word not in known and word not in THEIR_OWN:
                    yield f"docs/migration.md:{number}: nothing public has the name {word}"
            # What is called is declared, and not only mentioned in a comment.
            for name in re.findall(r"([A-Za-z_]\w*)(?:<[\w:, ]*>)?\(", code):
                declared = rf"\b(?:class|struct|def)\s+{name}\b|^(?!\s*(?://|#)).*\b{name}\("
                if name not in THEIR_OWN and not re.search(declared, sources, re.MULTILINE):
                    yield f"docs/migration.md:{number}: nothing public declares {name}"
        for words in re.findall(r'parse_options\("([^"]+)"\)', cell):
            for word in words.split("/"):
                if word not in methods:
                    yield f"docs/migration.md:{number}: {word} is no method"


def problems(root):
    public = [*sorted((root / "include").rglob("*.hpp")), *sorted((root / "python/src/blockvec").glob("*.py"))]
    methods = re.findall(r'"([a-z0-9+-]+)"', read(root / "orth/options.cpp"))
    return [
        *pages_without_place(root),
        *headers_without_place(root),
        *python_names_without_place(root),
        *programs_without_place(root),
        *unknown_names(read(root / "docs/migration.md"), "".join(read(file) for file in public), methods),
    ]


if __name__ == "__main__":
    found = problems(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) or "The pages are complete")
    sys.exit(1 if found else 0)
