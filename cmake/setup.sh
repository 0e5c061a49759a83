# Sourced by examples/run and tests/run after they have set `root`, the top of this tree.
# Installs what is missing by package name, configures the release preset and builds.

tool_packages="g++ cmake ninja-build"
library_packages="libhwy-dev libopenblas-dev liblapacke-dev libopenmpi-dev openmpi-bin librandom123-dev"
example_packages="libcli11-dev nlohmann-json3-dev libfmt-dev zlib1g-dev python3 python3-matplotlib"
test_packages="libgtest-dev libbenchmark-dev python3-dev python3-venv python3-numpy python3-scipy python3-pytest \
python3-hypothesis python3-mpi4py python3-nbclient python3-ipykernel"

build="$root/build/release"

say() { printf '== %s\n' "$*"; }

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

is_installed() {
  case $(dpkg-query -W -f='${db:Status-Abbrev} ' "$1" 2>/dev/null) in
    ?i*) return 0 ;;
    *) return 1 ;;
  esac
}

is_available() {
  case $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) in
    *"Candidate: (none)"* | "") return 1 ;;
    *) return 0 ;;
  esac
}

# The packages among the arguments that are not installed.
missing_of() {
  for package in "$@"; do
    is_installed "$package" || printf ' %s' "$package"
  done
}

# Does the user bring a Kokkos of their own (Kokkos_ROOT, or a prefix path as Spack sets it)?
has_own_kokkos() {
  [ -z "${Kokkos_ROOT:-}" ] || return 0
  old_ifs=$IFS
  IFS=:
  for prefix in ${CMAKE_PREFIX_PATH:-}; do
    for config in "$prefix"/lib*/cmake/Kokkos/KokkosConfig.cmake "$prefix"/lib/*/cmake/Kokkos/KokkosConfig.cmake; do
      if [ -f "$config" ]; then
        IFS=$old_ifs
        return 0
      fi
    done
  done
  IFS=$old_ifs
  return 1
}

# Kokkos as the distribution packages it, with Kokkos Kernels where it has them; else, or where that is installed, what
# is inside Trilinos.
kokkos_packages() {
  if is_installed libtrilinos-kokkos-dev || ! is_available libkokkos-dev; then
    echo "libtrilinos-kokkos-dev libtrilinos-kokkos-kernels-dev"
  elif is_available libkokkos-kernels-dev; then
    echo "libkokkos-dev libkokkos-kernels-dev"
  else
    echo "libkokkos-dev"
  fi
}

knows_kokkos() {
  has_own_kokkos || is_available libkokkos-dev || is_available libtrilinos-kokkos-dev
}

missing_kokkos() {
  has_own_kokkos || missing_of $(kokkos_packages)
}

# Runs a command as root; refuses where that would need a password and nobody is there to type it.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    sudo "$@"
  else
    return 1
  fi
}

# install_packages NAME...: makes sure of these and of Kokkos; does nothing, and asks for nothing, if all are there.
install_packages() {
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    say "no apt-get here: going on with the tools and libraries that CMake finds"
    return 0
  fi
  [ -n "$(missing_of "$@")$(missing_kokkos)" ] || return 0
  # Before the first update nothing is known of what the distribution offers: Kokkos is chosen after it.
  say "looking for packages"
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null && ! knows_kokkos; then
    fail "" "Packages are missing, and what the distribution offers is not known. As root, run" "  apt-get update" \
      "and then this command again."
  fi
  missing="$(missing_of "$@")$(missing_kokkos)"
  say "installing$missing"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing </dev/null && return 0
  fail "" "These packages are missing and could not be installed from here. As root, run" \
    "  apt-get update && apt-get install -y --no-install-recommends$missing" "and then this command again."
}

# prepare_python MODULE...: an environment in the build folder that has these besides the modules of the distribution's
# Python, whichever comes first on the path. What no distribution packages comes from Python's package index; without it
# the tests that need these modules are skipped.
prepare_python() {
  tools="$build/python-tools"
  have_all="import importlib.util, sys; sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))"
  ! "$tools/bin/python" -c "$have_all" "$@" 2>/dev/null || return 0
  say "preparing Python's $*"
  python=python3
  ! is_installed python3-numpy || python=/usr/bin/python3
  "$python" -m venv --system-site-packages "$tools" \
    && "$tools/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 15 "$@" \
    || say "$* could not be had: the test of the Python package will be skipped"
}

# configure_build ARGUMENT...: configures the release preset; an existing build is taken further.
configure_build() {
  for tool in cmake ninja c++; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool is not on the path. $requirements"
  done
  say "configuring $build"
  (cd "$root" && cmake --preset release "$@") || fail "" "CMake could not configure the build (see above). $requirements"
}
requirements="BlockVec needs CMake 3.25 or newer, Ninja, a C++20 compiler with OpenMP, Highway, Kokkos (3.4 to 5, \
with Kokkos Kernels or without), LAPACKE, a BLAS, Random123, and, if wanted, MPI; for CUDA devices nvcc and Python 3; the solvers also fmt and zlib, the examples CLI11, \
nlohmann-json and Python with matplotlib; the tests also GoogleTest. CMAKE_PREFIX_PATH or Kokkos_ROOT point CMake to those \
in unusual places."

# As many compilers as there are processors and 1.5 GB of free memory for each. A container is granted a part of both.
build_jobs() {
  groups=/sys/fs/cgroup
  quota='$1 + 0 > 0 { print int(($1 + $2 - 1) / $2) }'
  {
    set +e  # most of these files are missing
    env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc || echo 1
    awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo
    awk "$quota" "$groups/cpu.max"
    paste -d ' ' "$groups/cpu/cpu.cfs_quota_us" "$groups/cpu/cpu.cfs_period_us" | awk "$quota"
    awk '$1 + 0 > 0 { print int($1 / 1500000000) }' "$groups/memory.max" "$groups/memory/memory.limit_in_bytes"
  } 2>/dev/null | awk 'NR == 1 || $1 < least { least = $1 } END { print least < 1 ? 1 : int(least) }'
}

# build TARGET...: builds these targets; what is built already stays.
build_targets() {
  say "building with $(build_jobs) jobs"
  cmake --build "$build" --parallel "$(build_jobs)" --target "$@"
}
