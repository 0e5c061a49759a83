#!/usr/bin/env python3
"""Checks that every #include respects the layers: kernels < blockvec < orth < solvers < examples, python.

    layering.py ROOT

A file may include headers of its own layer and of those below it. A header outside of include/ is private to its top
folder. Some outside libraries are closed to some layers. tests/ and bench/ may look anywhere.
Prints each violation as file:line and exits with status 1 if there is one.
"""
import re
import sys
from pathlib import Path

LAYERS = ["kernels", "blockvec", "orth", "solvers", "examples"]
FOLDERS = {"src": "kernels", "blockvec": "blockvec", "orth": "orth", "solvers": "solvers", "examples": "examples",
           "python": "examples"}  # the last two see what outside users see
SUFFIXES = {".hpp", ".cpp", ".h", ".cu", ".cuh"}
# What a layer must not know: headers whose name matches.
CLOSED = {
    "kernels": re.compile(r"Kokkos|mpi\.h$|nccl"),
    "orth": re.compile(r"KokkosBlas|KokkosSparse|mpi\.h$|nccl|omp\.h$"),
    "solvers": re.compile(r"mpi\.h$|nccl|omp\.h$|CLI/|nlohmann"),
}
# Folders of the kernels that must not include others of them: the choice of a kernel links without any.
APART = {("src", "dispatch"): ("src", "cuda")}
# Headers in include/blockvec that belong to the lowest layer.
LOWEST = {"blockvec/version.hpp"}
# In the build tree of a configured build: public ones, and those of a layer's own.
GENERATED = {"blockvec/config.hpp": "blockvec"}
PRIVATE_GENERATED = {"cuda_shapes.inc", "cuda_compiled.inc", "cuda_kernels.inc", "tuning_lines.inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def layer_of_public(name):
    """The layer of a public header, named as users include it."""
    if name in LOWEST:
        return "kernels"
    second = name.split("/")[1]
    return second if second in LAYERS else "blockvec"


def layer_of_file(path):
    """The layer that a file (relative to the root) stands in; None where everything is allowed."""
    parts = path.parts
    if parts[0] == "include":
        return layer_of_public("/".join(parts[1:]))
    return FOLDERS.get(parts[0])


def resolve(root, path, bracket, name):
    """The header of this tree that `path` means by `name`, relative to the root; None if it is an outside one."""
    if name in GENERATED:
        return Path("include", name)
    if name in PRIVATE_GENERATED:
        return path.parent / name
    beside = [root / path.parent] if bracket == '"' else []
    for folder in [*beside, root / "include", root, root / path.parts[0]]:
        if (folder / name).is_file():
            return (folder / name).resolve().relative_to(root)
    return None


def violation(root, path, bracket, name):
    """Why the file at `path` must not include `name`, or None."""
    layer = layer_of_file(path)
    if layer in CLOSED and CLOSED[layer].search(name):
        return f"{layer} must not know {name}"

    header = resolve(root, path, bracket, name)
    if header is None:
        if name.startswith("blockvec/") or bracket == '"':
            return f"{name} does not exist in this tree"
        return None

    if header.parts[:2] == APART.get(path.parts[:2]):
        return f"{'/'.join(path.parts[:2])} must not know {'/'.join(header.parts[:2])}"
    if header.parts[0] != "include":
        return None if header.parts[0] == path.parts[0] else f"{name} is private to {header.parts[0]}/"
    public = header.relative_to("include").as_posix()
    target = GENERATED.get(public) or layer_of_public(public)
    if LAYERS.index(target) > LAYERS.index(layer):
        return f"{layer} stands below {target}, the layer of <{public}>"
    if layer == "examples" and bracket != "<":
        return f"public headers are included as outside users do: <{public}>"
    return None


def check(root):
    """All violations under `root`, as lines of text, and the number of files read."""
    root = Path(root).resolve()
    found = []
    files = 0
    for folder in ["include", *FOLDERS]:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            files += 1
            path = file.relative_to(root)
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                reason = match and violation(root, path, match[1], match[2])
                if reason:
                    found.append(f"{path}:{number}: {reason}")
    return found, files


def main():
    found, files = check(sys.argv[1])
    for line in found:
        print(line)
    print(f"{files} files, {len(found)} includes of the wrong layer")
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
