"""The Spack recipe agrees with BlockVec's CMake files; Spack itself is not needed.

spack_recipe.py ROOT

A stand-in for Spack's directives runs packaging/spack/package.py. For every choice of its variants the arguments for
CMake are made; each must be an option that CMake files define. Versions and the least tools are those of CMake.
"""

import itertools
import pathlib
import re
import sys
import types


class Recipe:
    """What a recipe's class says: collected while its body runs."""

    def __init__(self):
        self.variants, self.versions, self.dependencies, self.conditions = {}, [], [], []


class When:
    def __init__(self, recipe, condition):
        self.recipe, self.condition = recipe, condition

    def __enter__(self):
        self.recipe.conditions.append(self.condition)

    def __exit__(self, *_):
        self.recipe.conditions.pop()


class Spec:
    """A choice of variants that answers as Spack's specs do, for conditions like "+cuda~mpi"."""

    def __init__(self, choice):
        self.choice = choice
        self.variants = {"cuda_arch": types.SimpleNamespace(value=("80", "90", "100a"))}

    def satisfies(self, condition):
        signs = re.findall(r"([+~])(\w+)", condition)
        assert signs, f"a condition that the stand-in does not know: {condition}"
        return all(self.choice.get(name, False) == (sign == "+") for sign, name in signs)


class Base:
    run_tests = True

    def define(self, name, value):
        return name

    def define_from_variant(self, name, variant):
        assert variant in self.known_variants, f"no variant {variant}"
        return name


def load(path):
    """The recipe's class and what it says."""
    recipe = Recipe()

    def variant(name, when=None, default=None, description=""):
        assert description, f"variant {name} has no description"
        recipe.variants[name] = when

    def depends_on(spec, type=None, when=None):  # Spack's name
        recipe.dependencies.append((spec, [*recipe.conditions, when]))

    names = {
        "CMakePackage": type("CMakePackage", (Base,), {}),
        "CudaPackage": type("CudaPackage", (), {}),
        "variant": variant,
        "depends_on": depends_on,
        "version": recipe.versions.append,
        "license": lambda name: name,
        "when": lambda condition: When(recipe, condition),
        "requires": lambda *specs, **words: None,
        "conflicts": lambda spec, **words: None,
        "run_after": lambda phase: lambda function: function,
    }
    text = path.read_text(encoding="utf-8").replace("from spack.package import *", "")
    exec(compile(text, str(path), "exec"), names)  # the recipe is of this tree
    recipe.variants["cuda"] = None  # CudaPackage's own
    return names["Blockvec"], recipe


def choices(variants):
    """All choices of variants; one that a condition rules out is off."""
    names = sorted(variants)
    for values in itertools.product((False, True), repeat=len(names)):
        choice = dict(zip(names, values))
        if all(not choice[n] or variants[n] is None or Spec(choice).satisfies(variants[n]) for n in names):
            yield choice


def options_of(root):
    """Options that CMake files define, and variables of CMake's own that they use."""
    files = [root / "CMakeLists.txt", *(root / "cmake").glob("*.cmake")]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    return set(re.findall(r"^\s*option\((\w+)", text, re.MULTILINE)), text


def problems(root):
    package, recipe = load(root / "packaging/spack/package.py")
    package.known_variants = recipe.variants
    options, cmake = options_of(root)
    header = (root / "include/blockvec/version.hpp").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"BLOCKVEC_VERSION_\w+ (\d+)", header))
    if recipe.versions[:1] != [version]:
        yield f"the newest version is {recipe.versions[:1]}, version.hpp has {version}"

    passed, count = set(), 0
    for choice in choices(recipe.variants):
        package.spec = Spec(choice)
        arguments, count = package().cmake_args(), count + 1
        for argument in arguments:
            if argument not in options | {"BUILD_SHARED_LIBS", "CMAKE_CUDA_ARCHITECTURES"}:
                yield f"{argument} is no option of CMake's files"
        if len(arguments) != len(set(arguments)):
            yield f"an option is given twice for {choice}"
        passed.update(arguments)
    if count < 10:
        yield f"only {count} choices of variants"
    # What a package manager decides must not depend on what happens to be installed.
    for option in options:
        if option.startswith("BLOCKVEC_ENABLE_") and option not in passed:
            yield f"{option} is left to what CMake finds"

    specs = " ".join(spec for spec, _ in recipe.dependencies)
    for name, pattern in (("cmake", r"cmake_minimum_required\(VERSION ([\d.]+)"), ("cuda", r"least_cuda ([\d.]+)")):
        least = re.search(pattern, cmake)
        asked = re.search(rf"\b{name}@([\d.]+):", specs)
        if not least or not asked or least[1] != asked[1]:
            yield f"{name}: the recipe asks for {asked and asked[1]}, CMake for {least and least[1]}"
    for condition in [c for _, conditions in recipe.dependencies for c in conditions if c and "^" not in c]:
        for name in re.findall(r"[+~](\w+)", condition):
            if name not in recipe.variants:
                yield f"the condition {condition} names no variant"


if __name__ == "__main__":
    found = sorted(set(problems(pathlib.Path(sys.argv[1]).resolve())))
    print("\n".join(found) or "The Spack recipe agrees with CMake's files")
    sys.exit(1 if found else 0)
