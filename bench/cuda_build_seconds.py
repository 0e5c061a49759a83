#!/usr/bin/env python3
"""How long the CUDA files of the kernels' library compile, as the default build compiles them.

    bench/cuda_build_seconds.py FOLDER [--jobs 2] [CMake options]

Configures the library in FOLDER without a compiler cache and compiles its CUDA files with two jobs. Prints the seconds of
each family of files, from ninja's log, and their sum. Beside it stand the seconds of all processors, user and system:
other programs on the machine disturb these less. Files that are compiled already count with the seconds that they took,
but not in the seconds of processors: these want a new folder.
"""
import argparse
import collections
import re
import resource
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def family_of(output):
    """src/.../generated/tsmm_direct_0.cu.o belongs to tsmm_direct, src/.../cuda/tsmm/launch.cu.o to tsmm/launch."""
    name = re.sub(r".*/(generated|cuda)/", "", output).removesuffix(".cu.o")
    return re.sub(r"_\d+$", "", name)


def processor_seconds():
    """What programs that have ended took, user and system."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments, options = parser.parse_known_args()
    folder = arguments.folder
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_CUDA_COMPILER_LAUNCHER=", "-DBLOCKVEC_KERNELS_ONLY=ON", "-DBLOCKVEC_BUILD_TESTS=OFF",
                    *options], check=True, stdout=subprocess.DEVNULL)
    listed = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], check=True, capture_output=True, text=True)
    outputs = re.findall(r"^(src/\S+\.cu\.o):", listed.stdout, re.MULTILINE)
    before = processor_seconds()
    subprocess.run(["ninja", "-C", folder, f"-j{arguments.jobs}", *outputs], check=True, stdout=subprocess.DEVNULL)
    used = processor_seconds() - before
    seconds = collections.defaultdict(dict)
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        if output in outputs:
            seconds[family_of(output)][output] = (int(end) - int(start)) / 1000
    for family, of in sorted(seconds.items(), key=lambda item: -sum(item[1].values())):
        print(f"{sum(of.values()):7.1f} s  {len(of)} {'file' if len(of) == 1 else 'files'}  {family}")
    print(f"{sum(sum(of.values()) for of in seconds.values()):7.1f} s  {len(outputs)} files")
    print(f"{used:7.1f} s of processors")


if __name__ == "__main__":
    main()
