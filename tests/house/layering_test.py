"""The layering check finds planted violations, and only these."""
import tempfile
import unittest
from pathlib import Path

import layering

HEADERS = [
    "include/blockvec/version.hpp",
    "include/blockvec/block_vector.hpp",
    "include/blockvec/kernels/matrix.hpp",
    "include/blockvec/orth/orthogonalizer.hpp",
    "include/blockvec/solvers/lanczos.hpp",
    "src/host/tile.hpp",
    "src/cuda/launch.hpp",
    "src/dispatch/cuda/rules.hpp",
    "blockvec/state.hpp",
    "orth/detail.hpp",
    "solvers/sparse/halo.hpp",
    "examples/problems/heisenberg.hpp",
]


class Layering(unittest.TestCase):
    def found(self, path, line):
        """What the check says of a tree in which the file at `path` holds `line`."""
        with tempfile.TemporaryDirectory() as root:
            for name in [*HEADERS, path]:
                file = Path(root, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("#pragma once\n")
            Path(root, path).write_text(f"// first line\n{line}\n")
            return layering.check(root)[0]

    def assert_caught(self, path, line, reason):
        found = self.found(path, line)
        self.assertEqual(len(found), 1, f"{path}: {line}")
        self.assertEqual(found[0], f"{path}:2: {reason}")

    def test_kernels_know_neither_kokkos_nor_ranks(self):
        for path in ["src/host/a.cpp", "include/blockvec/kernels/a.hpp"]:
            for name in ["Kokkos_Core.hpp", "KokkosBlas.hpp", "mpi.h", "nccl.h"]:
                self.assert_caught(path, f"#include <{name}>", f"kernels must not know {name}")

    def test_a_layer_does_not_see_those_above(self):
        cases = [
            ("src/a.cpp", "blockvec/block_vector.hpp", "kernels", "blockvec"),
            ("src/a.cpp", "blockvec/config.hpp", "kernels", "blockvec"),
            ("src/a.cpp", "blockvec/orth/orthogonalizer.hpp", "kernels", "orth"),
            ("include/blockvec/kernels/a.hpp", "blockvec/block_vector.hpp", "kernels", "blockvec"),
            ("blockvec/a.cpp", "blockvec/orth/orthogonalizer.hpp", "blockvec", "orth"),
            ("include/blockvec/a.hpp", "blockvec/orth/orthogonalizer.hpp", "blockvec", "orth"),
            ("orth/a.cpp", "blockvec/solvers/lanczos.hpp", "orth", "solvers"),
            ("blockvec/a.cpp", "blockvec/solvers/lanczos.hpp", "blockvec", "solvers"),
        ]
        for path, name, layer, above in cases:
            self.assert_caught(path, f"#include <{name}>", f"{layer} stands below {above}, the layer of <{name}>")

    def test_the_choice_of_a_kernel_knows_no_kernels(self):
        self.assert_caught("src/dispatch/cuda/a.cpp", '#include "src/cuda/launch.hpp"', "src/dispatch must not know src/cuda")
        self.assertEqual(self.found("src/cuda/a.cu", '#include "src/dispatch/cuda/rules.hpp"'), [])

    def test_solvers_know_no_programs(self):
        for name in ["CLI/CLI.hpp", "nlohmann/json.hpp", "mpi.h"]:
            self.assert_caught("solvers/a.cpp", f"#include <{name}>", f"solvers must not know {name}")

    def test_spelling_hides_nothing(self):
        self.assert_caught("src/a.cpp", '  #  include   "mpi.h" // why', "kernels must not know mpi.h")
        self.assert_caught("src/a.cpp", '#include "../blockvec/state.hpp"', "../blockvec/state.hpp is private to blockvec/")

        reason = "kernels stands below blockvec, the layer of <blockvec/block_vector.hpp>"
        self.assert_caught("include/blockvec/kernels/a.hpp", '#include "../block_vector.hpp"', reason)

    def test_private_headers_stay_in_their_folder(self):
        for path, name, owner in [
            ("examples/a.cpp", "orth/detail.hpp", "orth"),
            ("examples/a.cpp", "src/host/tile.hpp", "src"),
            ("orth/a.cpp", "examples/problems/heisenberg.hpp", "examples"),
            ("orth/a.cpp", "solvers/sparse/halo.hpp", "solvers"),
            ("solvers/a.cpp", "examples/problems/heisenberg.hpp", "examples"),
            ("solvers/a.cpp", "orth/detail.hpp", "orth"),
            ("examples/a.cpp", "solvers/sparse/halo.hpp", "solvers"),
            ("python/src/a.cpp", "solvers/sparse/halo.hpp", "solvers"),
            ("blockvec/a.cpp", "src/host/tile.hpp", "src"),
            ("include/blockvec/a.hpp", "blockvec/state.hpp", "blockvec"),
        ]:
            self.assert_caught(path, f'#include "{name}"', f"{name} is private to {owner}/")

    def test_examples_include_as_outside_users_do(self):
        name = "blockvec/block_vector.hpp"
        reason = f"public headers are included as outside users do: <{name}>"
        self.assert_caught("examples/a.cpp", f'#include "{name}"', reason)

    def test_missing_headers_are_named(self):
        self.assert_caught("orth/a.cpp", "#include <blockvec/gone.hpp>", "blockvec/gone.hpp does not exist in this tree")

    def test_what_is_allowed_passes(self):
        for path, line in [
            ("src/host/a.cpp", "#include <hwy/highway.h>"),
            ("src/host/a.cpp", '#include "src/host/tile.hpp"'),
            ("src/host/a.cpp", '#include "tile.hpp"'),
            ("src/a.cpp", "#include <blockvec/version.hpp>"),
            ("blockvec/a.cpp", "#include <Kokkos_Core.hpp>"),
            ("blockvec/a.cpp", "#include <blockvec/config.hpp>"),
            ("blockvec/a.cpp", "#include <mpi.h>"),
            ("orth/a.cpp", "#include <blockvec/kernels/matrix.hpp>"),
            ("orth/a.cpp", "#include <lapacke.h>"),
            ("solvers/a.cpp", "#include <blockvec/orth/orthogonalizer.hpp>"),
            ("solvers/lanczos/a.cpp", '#include "solvers/sparse/halo.hpp"'),
            ("examples/a.cpp", "#include <blockvec/orth/orthogonalizer.hpp>"),
            ("examples/a.cpp", "#include <blockvec/solvers/lanczos.hpp>"),
            ("examples/problems/a.cpp", '#include "problems/heisenberg.hpp"'),
            ("python/src/a.cpp", "#include <blockvec/solvers/lanczos.hpp>"),
            ("tests/a.cpp", '#include "src/host/tile.hpp"'),
            ("bench/a.cpp", '#include "orth/detail.hpp"'),
        ]:
            self.assertEqual(self.found(path, line), [], f"{path}: {line}")


if __name__ == "__main__":
    unittest.main()
