# Copyright 2026 The BlockVec developers
# SPDX-License-Identifier: BSD-3-Clause

from spack.package import *


class Blockvec(CMakePackage, CudaPackage):
    """Block vectors for eigensolvers: products and orthogonalisation of tall and skinny matrices at
    the speed of the memory, on processors, NVIDIA GPUs and over MPI, and the solvers themselves."""

    license("BSD-3-Clause")

    # From a clone: spack develop --path CLONE blockvec@=0.1.0
    version("0.1.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("mpi", default=True, description="Distribute rows over MPI ranks")
    variant("nccl", default=False, when="+cuda+mpi", description="Sum over GPUs by NCCL")
    variant("kernels_only", default=False, description="Build the kernels alone")
    variant("solvers", default=True, when="~kernels_only", description="Build the eigensolvers")
    variant("examples", default=True, when="+solvers", description="Build the program eigensolve")
    variant("kokkoskernels", default=True, when="~kernels_only", description="Use its products")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3:", type="build", when="+cuda")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("highway@1:")
    depends_on("blas")

    with when("~kernels_only"):
        depends_on("kokkos@3.4.00:5")
        depends_on("kokkos-kernels@3.4.00:5", when="+kokkoskernels")
        depends_on("random123", type="build")
        depends_on("lapack")
        requires("^openblas", "^netlib-lapack+lapacke", policy="one_of", msg="LAPACKE is needed")
        depends_on("mpi", when="+mpi")
        depends_on("nccl", when="+nccl")
    with when("+solvers"):
        depends_on("fmt")
        depends_on("zlib-api")
    with when("+examples"):
        depends_on("cli11", type="build")
        depends_on("nlohmann-json", type="build")
        depends_on("python@3:", type="run")
        depends_on("py-matplotlib", type="run")
    depends_on("googletest", type="test")
    depends_on("python@3:", type="test")

    # A Kokkos is built for one architecture. Kokkos 4.7.01 is the first that CUDA 13 compiles.
    for arch in ("80", "86", "89", "90", "90a", "100", "100a"):
        with when(f"+cuda~kernels_only cuda_arch={arch}"):
            depends_on(f"kokkos@4.6:+cuda+cmake_lang cuda_arch={arch.rstrip('a')}")
            depends_on("kokkos@4.7.01:", when="^cuda@13:")
    conflicts("cuda_arch=none", when="+cuda", msg="Name the GPU: cuda_arch=80, 90a or 100a")

    @property
    def cuda_architectures(self):
        """The kernels for 9.0 and 10.0 use instructions that these GPUs alone have."""
        own = {"90": "90a-real", "90a": "90a-real", "100": "100a-real", "100a": "100a-real"}
        return [own.get(arch, arch) for arch in self.spec.variants["cuda_arch"].value]

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("BLOCKVEC_ENABLE_CUDA", "cuda"),
            self.define_from_variant("BLOCKVEC_KERNELS_ONLY", "kernels_only"),
            self.define("BLOCKVEC_BUILD_TESTS", self.run_tests),
            self.define("BLOCKVEC_BUILD_EXAMPLES", self.spec.satisfies("+examples")),
        ]
        if self.spec.satisfies("~kernels_only"):
            args += [
                self.define_from_variant("BLOCKVEC_ENABLE_MPI", "mpi"),
                self.define_from_variant("BLOCKVEC_BUILD_SOLVERS", "solvers"),
                self.define_from_variant("BLOCKVEC_ENABLE_KOKKOSKERNELS", "kokkoskernels"),
                self.define("BLOCKVEC_ENABLE_NCCL", self.spec.satisfies("+nccl")),
            ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.cuda_architectures))
        return args

    @run_after("install")
    def keep_consumer(self):
        cache_extra_test_sources(self, "tests/house/consumer")

    def test_consumer(self):
        """a program outside of the source tree links the installed libraries"""
        if self.spec.satisfies("+cuda~kernels_only"):
            raise SkipTest("needs a GPU")
        component = "kernels" if self.spec.satisfies("+kernels_only") else "orth"
        source = join_path(self.test_suite.current_test_cache_dir, "tests", "house", "consumer")
        with working_dir("consumer", create=True):
            cmake = self.spec["cmake"].command
            cmake(
                source,
                f"-DBlockVec_ROOT={self.prefix}",
                f"-DCOMPONENT={component}",
            )
            cmake("--build", ".")
            Executable("./consumer")()
