"""README.md keeps its word: its program is the one that the tests build, the files that it names exist, it stays short."""
import pathlib
import re
import sys

MOST_LINES = 200


def problems(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    program = (root / "tests/house/consumer/use_orth.cpp").read_text(encoding="utf-8")
    found = []
    if len(text.splitlines()) >= MOST_LINES:
        found.append(f"README.md has {MOST_LINES} lines or more")
    blocks = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    if [block for block in blocks if block not in program]:
        found.append("a program in README.md is not the one in tests/house/consumer/use_orth.cpp")
    if not blocks:
        found.append("README.md shows no program")
    for name in re.findall(r"(?:\]\(|`)((?:examples|tests|bench|src|blockvec|orth|cmake|include)/[\w./*-]+)[)`]", text):
        if not list(root.glob(name.rstrip("/"))):
            found.append(f"README.md names {name}, which is not there")
    for command in ("./examples/run", "./tests/run"):
        if command not in text:
            found.append(f"README.md does not name {command}")
    return found


if __name__ == "__main__":
    result = problems(pathlib.Path(sys.argv[1]))
    print("\n".join(result) or "README.md is in order")
    sys.exit(1 if result else 0)
