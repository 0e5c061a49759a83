"""A program that finds the installed kernels by pkg-config compiles and runs.

pkg_config.py PREFIX COMPILER SOURCE FOLDER     exit status 77: no pkg-config here
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys


def main():
    prefix, compiler, source, folder = sys.argv[1:]
    tool = shutil.which("pkg-config") or shutil.which("pkgconf")
    if tool is None:
        print("pkg-config is not there")
        return 77
    files = list(pathlib.Path(prefix).glob("**/pkgconfig/blockvec-kernels.pc"))
    if len(files) != 1:
        print(f"expected one blockvec-kernels.pc below {prefix}, found {len(files)}")
        return 1
    environment = dict(os.environ, PKG_CONFIG_PATH=str(files[0].parent))
    answer = subprocess.run(
        [tool, "--cflags", "--libs", "blockvec-kernels"], env=environment, capture_output=True, text=True, check=True
    )
    print("pkg-config says", answer.stdout.strip())
    program = pathlib.Path(folder) / "by_pkg_config"
    program.parent.mkdir(parents=True, exist_ok=True)
    flags = [*shlex.split(answer.stdout), f"-Wl,-rpath,{files[0].parent.parent}"]
    subprocess.run([compiler, "-std=c++20", source, *flags, "-o", program], check=True)
    return subprocess.run([program]).returncode


if __name__ == "__main__":
    sys.exit(main())
