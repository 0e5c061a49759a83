#pragma once

#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

struct CUstream_st;

/// @file
/// The two products of tall & skinny matrices on a CUDA device: the host's contract (tall_skinny.hpp) for matrices in
/// device memory. In libraries that were built with CUDA, as BLOCKVEC_HAVE_CUDA says.
///
/// Calls are ordered on the caller's stream. They allocate nothing and do not wait for the device, so that each can be
/// captured in a CUDA graph. The same call gives the same bits on the same device, whatever else runs there.
/// All four types are summed in double precision, except with SinglePrecision::split.
///
/// Bad arguments get a ShapeError that names the operands and what was expected, before anything is launched: as on the
/// host, and for entries that do not begin at multiples of their size (those of complex<double> of 8 bytes), for null
/// pointers to alpha or beta, for these in the output's memory, and for a workspace that is too small, null or shares
/// memory with an operand.
namespace blockvec::kernels {

/// A CUDA call failed, there is no device, or its compute capability is less than 8.0: the message names the operation
/// and its shape, with CUDA's own words.
class CudaError : public Error {
 public:
  using Error::Error;
};

/// How products of single precision may be formed where double precision is slower than memory.
enum class SinglePrecision : std::uint8_t {
  split,  ///< of wide operands (tsmm: and of few columns of B where A has 16 and more real ones) as three products of
          ///< numbers of 11 bits (TF32), summed in single precision: all of a row (tsmm), or those of up to 256 rows
          ///< (tsmttsm of two matrices); of narrow operands without tensor cores, in single precision as well: all of a
          ///< row (tsmm, up to 24 columns of scalars), or up to 256 rows of a few columns of C (tsmttsm, 17 to 19
          ///< complex ones by columns). On devices whose double precision is slower than that of compute capability 9.0,
          ///< operands of any width may be taken so, by tsmttsm also where B is A. What such sums do not hold is
          ///< computed again in double precision: only true infinities and NaN are seen
  plain   ///< in double precision all the same
};

/// Where a call runs: the current device.
struct CudaExecution {
  CUstream_st* stream = nullptr;  ///< cudaStream_t
  std::span<std::byte> workspace =
      {};  ///< device memory apart from all operands, as much as *_workspace says; one call at a time
  SinglePrecision single_precision = SinglePrecision::split;  ///< how single precision is multiplied
  unsigned* ticket = nullptr;  ///< a number in device memory that is zero, apart from the workspace, for one call at a
                               ///< time: every tsmm leaves it at zero. Null: a kernel sets one in the workspace to zero
                               ///< before each tsmm, which takes about a microsecond
  const unsigned* condition =
      nullptr;  ///< a number in device memory, apart from the output and the workspace. Products read it when they run;
                ///< where it is zero they leave their output as it is and end at once. Null: the product is always
                ///< formed
};

///@{
/// C = alpha A^op B + beta C with A K x M, B K x N, C M x N, all in device memory; B may be A.
/// alpha and beta are values, or both are read from device memory when the product runs; neither pointer may be null.
/// Cost: one pass over A and B (one over A where A is B); workspace for one C a multiprocessor or so.
/// Error: |C_computed - C| <= (gamma(K + 3) of double precision + u) |alpha| |A|^T |B| (+ 2 u |beta C|) entry by entry.
/// Of wide operands, complex products are made of three real ones: 4 gamma(K + 8) instead, by the magnitude of complex
/// numbers; a small imaginary part may have no digits of its own, and NaN may stand for infinities. Products of single
/// precision are split, unless the caller wants them plain: 8 gamma(min(4 K + 48, 1072)) of single precision more.
/// Throws ShapeError naming operands and shapes before anything is launched, CudaError naming product and shape.
/// Source: Ernst, Hager, Thies, Wellein 2020, section 3, for tensor cores and bulk copies.
template <class T>
void tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b, T beta,
             Matrix<T> c, const CudaExecution& execution);
template <class T>
void tsmttsm(Op op, const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> b,
             const T* beta, Matrix<T> c, const CudaExecution& execution);
///@}

/// Bytes of device memory that tsmttsm asks for on the current device, whatever the layout and the strides; K, M and N
/// are those of the product. Throws CudaError where there is no device for it.
template <class T>
std::size_t cuda_tsmttsm_workspace(std::int64_t k, std::int64_t m, std::int64_t n);

///@{
/// B = alpha A C + beta B with A K x M, C M x N, B K x N, all in device memory, B apart from A and C. alpha and beta as
/// for tsmttsm. A triangle other than general takes the opposite triangle of C as zero without reading it.
/// Cost: one pass over A and B: K (M + N) words (K (M + 2 N) with beta != 0), 2 K M N flops (8 for complex). Of more
/// than 128 columns of B, sections of so many take A from the device's cache one after the other; where products are
/// split, A is read again for each 128 of them (64 complex ones). Error: at most (gamma(M + 3) of
/// double precision + u) |alpha| |A| |C| (+ 2 u |beta B|) entry by entry. Wide operands of complex double precision
/// have 4 gamma(M + 8) more; those of single precision, unless the caller wants it plain, gamma(4 M + 48), and complex
/// ones 3 gamma(8 M + 48), as has single precision of few columns of B where A has 16 and more real ones. Throws
/// ShapeError and CudaError as tsmttsm does. Source: Ernst et al. 2020, section 4, for tensor cores, bulk copies and
/// tensor maps.
template <class T>
void tsmm(T alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c, T beta,
          Matrix<T> b, Triangle triangle, const CudaExecution& execution);
template <class T>
void tsmm(const T* alpha, std::type_identity_t<Matrix<const T>> a, std::type_identity_t<Matrix<const T>> c,
          const T* beta, Matrix<T> b, Triangle triangle, const CudaExecution& execution);
///@}

/// V <- V C in place: N columns of V, from number `first` on, become V C; the others keep their values. V is K x M, C is
/// M x N with first + N <= M, apart from V; both in device memory.
/// Cost: one pass over V: K (M + N) words, 2 K M N flops (8 for complex); of more than 2048 real columns, beyond
/// 2^30 rows and below compute capability 9.0, rows may go through the workspace, up to 128 MiB at a time. Error as
/// tsmm with alpha = 1 and beta = 0. Throws ShapeError and CudaError as tsmttsm does. Source: as tsmm.
template <class T>
void tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle,
                  const CudaExecution& execution, std::int64_t first = 0);

/// Bytes of device memory that tsmm and tsmm_inplace ask for on the current device, as for tsmttsm.
template <class T>
std::size_t cuda_tsmm_workspace(std::int64_t k, std::int64_t m, std::int64_t n);

/// Which steps of a sweep are done: numbers in device memory, apart from the sweep's output and workspace, which it
/// reads when it runs. A step whose number is zero is left out, and its output stays as it is; null: the step is done.
struct SweepConditions {
  const unsigned* change = nullptr;    ///< of W
  const unsigned* products = nullptr;  ///< of W, changed or not
};

/// One sweep of block Gram-Schmidt in one pass over tall data: W <- [V W] C, then P = [V W]^H W of the new W.
/// V is K x M and comes as up to four matrices that stand side by side; W is K x N, C and P are (M + N) x N. With
/// C = [-S X; X], the change is W <- (W - V S) X. A step whose small matrix has no columns is left out. All of V and W
/// share one layout; W may lie behind V's columns in one allocation, but shares no entry with V.
/// Cost: K (M + 2 N) words, K (M + N) where W stays as it is; with products before, two sweeps, of which the first
/// forms the second one's products, move K (3 M + 5 N). So by rows that begin at multiples of 16 bytes, N of at most 32
/// real columns and M + N of at most some 500 (250 where N has more than 16, or W changes); in other cases products run
/// one after the other. Where both conditions are zero, all kernels end at once.
/// execution.condition does not count. Errors as tsmm and tsmttsm, one after the other; NaN and Inf pass through.
/// Throws ShapeError and CudaError as tsmttsm does, and ShapeError for more than four matrices.
template <class T>
void gram_schmidt_sweep(std::span<const std::type_identity_t<Matrix<const T>>> v,
                        std::type_identity_t<Matrix<const T>> c, Matrix<T> w, std::type_identity_t<Matrix<T>> p,
                        const CudaExecution& execution, const SweepConditions& conditions = {});

/// P = [V W]^H R for the image R of W under a metric, K x N: the products of a sweep in that metric, in one pass.
/// Operands, execution and errors as for gram_schmidt_sweep; W is not changed. Cost: K (M + 2 N) words.
template <class T>
void gram_schmidt_products(std::span<const std::type_identity_t<Matrix<const T>>> v,
                           std::type_identity_t<Matrix<const T>> w, std::type_identity_t<Matrix<const T>> image,
                           Matrix<T> p, const CudaExecution& execution, const unsigned* condition = nullptr);

/// Whether gram_schmidt_sweep of such operands takes one pass on the current device: one that `changes` W, one that
/// `multiplies`, or both. Throws CudaError where there is no device.
template <class T>
bool cuda_sweeps_in_one_pass(std::span<const std::type_identity_t<Matrix<const T>>> v,
                             std::type_identity_t<Matrix<const T>> w, bool changes, bool multiplies);

/// Bytes of device memory that gram_schmidt_sweep and gram_schmidt_products ask for, as for tsmttsm. `m`: columns of
/// each of V's matrices.
template <class T>
std::size_t cuda_gram_schmidt_sweep_workspace(std::int64_t k, std::span<const std::int64_t> m, std::int64_t n);

/// Why a product runs as it does, as explain_cuda_* find it for the current device.
struct CudaExplanation {
  std::string kernel;         ///< e.g. "ring"; "none": nothing is multiplied
  std::string configuration;  ///< e.g. "tile 2x8 warps 2x1 groups 4 rows 16 stages 12 fold 1"
  std::string source;         ///< "measured nvidia_h200.csv:12", a row of a table in src/tuning, or "model"
  double seconds = 0;         ///< that the model expects
  double gbps = 0;            ///< bytes of tsmttsm_bytes or tsmm_bytes in these seconds
  std::string bound;          ///< what limits it: "memory", "tensor cores", "arithmetic", "shared memory", "latency"

  /// All of it in one line.
  std::string text() const;
};

///@{
/// Which kernel a call with these arguments runs on, and with what configuration: all that decides it counts, alpha and
/// beta, where they are, and how single precision may be formed. Stream and workspace do not matter, no matrix is read.
/// Cost: microseconds of the host, fewer where the same was asked for lately; nothing is launched.
/// Throws ShapeError where the call would, except for the workspace, and CudaError where there is no device for it.
/// Source: none, a model of our own (src/dispatch/cuda/model.hpp) and tables of measurements (src/tuning).
template <class T>
CudaExplanation explain_cuda_tsmttsm(Op op, T alpha, std::type_identity_t<Matrix<const T>> a,
                                     std::type_identity_t<Matrix<const T>> b, T beta, Matrix<T> c,
                                     const CudaExecution& execution);
template <class T>
CudaExplanation explain_cuda_tsmttsm(Op op, const T* alpha, std::type_identity_t<Matrix<const T>> a,
                                     std::type_identity_t<Matrix<const T>> b, const T* beta, Matrix<T> c,
                                     const CudaExecution& execution);
template <class T>
CudaExplanation explain_cuda_tsmm(T alpha, std::type_identity_t<Matrix<const T>> a,
                                  std::type_identity_t<Matrix<const T>> c, T beta, Matrix<T> b, Triangle triangle,
                                  const CudaExecution& execution);
template <class T>
CudaExplanation explain_cuda_tsmm(const T* alpha, std::type_identity_t<Matrix<const T>> a,
                                  std::type_identity_t<Matrix<const T>> c, const T* beta, Matrix<T> b,
                                  Triangle triangle, const CudaExecution& execution);
template <class T>
CudaExplanation explain_cuda_tsmm_inplace(Matrix<T> v, std::type_identity_t<Matrix<const T>> c, Triangle triangle,
                                          const CudaExecution& execution, std::int64_t first = 0);
///@}

}  // namespace blockvec::kernels
