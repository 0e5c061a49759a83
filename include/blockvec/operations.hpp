#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/double_double_matrix.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

/// @file
/// Operations on block vectors. V is K x m, W is K x b, with the same context and row distribution; small matrices are
/// replicated. Offered for float, double, Complex<float>, Complex<double>, row-major and column-major, in every memory
/// space of this build (space.hpp).
/// Where block vectors live on a device, the small matrices of products and of what they are multiplied with may lie
/// there or on the host (small_on_host.hpp). From the host they are copied in the order of the context's instance,
/// without a wait; results on the host are there when the operation returns (InnerProducts: reduce), after one wait.
/// All throw ShapeError naming the operands, their shapes and what was expected, before anything is launched or sent.
/// None allocates once the context's workspace is warm. Only operations that say "reduction" communicate; those are
/// collective. If one of them throws on some ranks before its reduction, it throws on every rank, RefusedError on the
/// others (Context::collective). In a reproducible Context each of these costs two reductions (on a device
/// one or two), and its bits depend on neither ranks nor threads (Summation, context.hpp).
namespace blockvec {

/// C = V^H W, summed over all ranks. C is m x b with the same bits on every rank. V and W may be the same or overlap
/// (Gram). Cost: one pass over V and W, K (m + b) words (K m where they are the same); one reduction of m b words.
/// Error in each entry: gamma |V|^H |W|, gamma growing with the log of the local rows (kernels::tsmttsm) and of the
/// ranks. Source: Ernst, Hager, Thies, Wellein 2020, section 3.
template <class Scalar, class Layout, class Space>
void inner_product(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                   const SmallMatrix<Scalar, Space>& c);

/// C = V^H W to about twice the working precision, the sum over all ranks included: C.high is the product rounded,
/// C.low the remainder, the same bits on every rank. Otherwise as inner_product; m b words of double size in the
/// reduction. On the host memory-bound to widths of 4 to 8 only (kernels::tsmttsm_dd). On a device a product costs
/// eight operations in double precision (one in single precision), and the same device gives the same bits.
/// Error in each entry: u^2 |V^H W| + gamma(K)^2 |V|^H |W|; for single precision gamma(K) of double precision, and
/// u^2 of each rank's share. Source: Ogita, Rump, Oishi 2005 (Dot2); for Gram matrices Yamazaki, Tomov, Dongarra 2015.
template <class Scalar, class Layout, class Space>
void inner_product_dd(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                      const DoubleDoubleMatrix<Scalar, Space>& c);

/// W = alpha V C + beta W. C is m x b, V and W do not overlap. beta = 0 never reads W, alpha = 0 never reads V and C.
/// Cost: one pass: K (m + b) words, K (m + 2b) with beta != 0. No reduction. Source: Ernst et al. 2020, section 4.
template <class Scalar, class Layout, class Space>
void update(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c, Scalar beta,
            const BlockVector<Scalar, Layout, Space>& w);

/// The n columns of V from number `first` on become V C, the others keep their values. C is m x n, first + n <= m; of a
/// triangular C the other triangle is taken as zero and never read. Cost: one pass, K (m + n) words. No reduction.
template <class Scalar, class Layout, class Space>
void multiply_in_place(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c,
                       kernels::Triangle triangle = kernels::Triangle::general, std::int64_t first = 0);

/// One sweep of block Gram-Schmidt, W <- (W - V S) X. V is any number of block vectors side by side, or none; S is m x
/// b, X b x b, of a triangular X the other triangle is never read; S or X null: that step is left out.
/// InnerProducts::add_swept asks for the next sweep's products along with it. Cost: of up to four block vectors on the
/// host one pass, K (m + 2b) words; else those of update and multiply_in_place. No reduction.
template <class Scalar, class Layout, class Space>
void gram_schmidt_sweep(std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
                        const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                        const BlockVector<Scalar, Layout, Space>& w,
                        const std::type_identity_t<SmallMatrix<Scalar, Space>>* x, kernels::Triangle triangle);
/// S and X lie on the host. With S, of up to four block vectors, it takes one pass, K (m + 2b) words, where W's columns
/// follow V's in one block vector, where the device's kernel for sweeps serves (kernels/cuda.hpp), or where V is one
/// block vector and X null.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void gram_schmidt_sweep(
    std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
    const std::type_identity_t<SmallMatrix<Scalar>>* s, const BlockVector<Scalar, Layout, Space>& w,
    const std::type_identity_t<SmallMatrix<Scalar>>* x, kernels::Triangle triangle);

/// What a sweep does: W <- W - V S, W <- W X, P = V^H W and G = W^H W.
struct SweepSteps {
  ///@{
  /// W <- W - V S, W <- W X, P = V^H W, G = W^H W: whether it is done.
  bool subtracts = false, applies = false, forms_p = false, forms_g = false;
  ///@}
};
/// Words of tall data that gram_schmidt_sweep and InnerProducts::add_swept move for each row, where small matrices lie
/// on the host.
template <class Scalar, class Layout, class Space>
std::int64_t sweep_words(std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
                         const BlockVector<Scalar, Layout, Space>& w, const SweepSteps& steps);

/// Several inner products that cross the machine in one reduction:
///
///     InnerProducts<double> products(context);
///     products.add(V, W, S).add_dd(W, W, G).reduce();
///
/// Each product is computed when it is added, and its matrix holds this rank's share until reduce(), by which all ranks
/// must have added the same shapes in the same order (a disagreement throws DisagreementError on every rank). At most
/// 16 products. With one product in double-double among them, all travel as double-double numbers. In a reproducible
/// Context products are computed by reduce(): V and W keep their values until then, and all have one distribution of
/// rows.
template <class Scalar, class Layout = DefaultLayout<DefaultSpace>, class Space = DefaultSpace>
class InnerProducts {
 public:
  /// For products of block vectors of this Context.
  explicit InnerProducts(const Context& context) : context_(context) {}

  /// C = V^H W, as inner_product().
  InnerProducts& add(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                     const SmallMatrix<Scalar, Space>& c);
  /// gram_schmidt_sweep, then P = V^H W (unless null) and G = W^H W of the new W: with P a product for each of V's
  /// block vectors, and one more. Of up to four on the host all in one pass, K (m + 2b) words, or K (m + b) where S and
  /// X are null; else one after the other, in a reproducible Context the products apart.
  InnerProducts& add_swept(std::span<const BlockVector<Scalar, Layout, Space>> v, const SmallMatrix<Scalar, Space>* s,
                           const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar, Space>* x,
                           kernels::Triangle triangle, const SmallMatrix<Scalar, Space>* p,
                           const SmallMatrix<Scalar, Space>& g);
  /// As inner_product_dd.
  InnerProducts& add_dd(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                        const DoubleDoubleMatrix<Scalar, Space>& c);
  /// dots(0, j) = v_j^H w_j, as column_dots; norms are the roots of those with V = W. dots is 1 x m.
  InnerProducts& add_dots(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                          const SmallMatrix<Scalar, Space>& dots);
  /// C holds this rank's share of something that is summed along. Not in a reproducible Context: throws Error.
  InnerProducts& add_share(const SmallMatrix<Scalar, Space>& c);
  ///@{
  /// Results that lie on the host are there when reduce() returns. P and G of add_swept come in the pass that changes W
  /// where the device's kernel for sweeps serves (kernels/cuda.hpp); else in a pass of their own, K (m + b) words where
  /// W's columns follow V's in one block vector.
  InnerProducts& add(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                     const SmallMatrix<Scalar>& c) requires(!is_host_space<Space>);
  InnerProducts& add_swept(std::span<const BlockVector<Scalar, Layout, Space>> v, const SmallMatrix<Scalar>* s,
                           const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar>* x,
                           kernels::Triangle triangle, const SmallMatrix<Scalar>* p,
                           const SmallMatrix<Scalar>& g) requires(!is_host_space<Space>);
  InnerProducts& add_dd(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                        const DoubleDoubleMatrix<Scalar>& c) requires(!is_host_space<Space>);
  InnerProducts& add_share(const SmallMatrix<Scalar>& c) requires(!is_host_space<Space>);
  ///@}
  /// The share lies on the device, C on the host is the sum.
  InnerProducts& add_share(const SmallMatrix<Scalar, Space>& share,
                           const SmallMatrix<Scalar>& c) requires(!is_host_space<Space>);
  /// One reduction of all words together. Nothing added: no reduction.
  void reduce();

 private:
  void require(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
               const SmallMatrix<Scalar, Space>& c, int products) const;
  void require_operands(const BlockVector<Scalar, Layout, Space>& v, int products) const;
  void require_room(int products) const;
  void record(const DoubleDoubleMatrix<Scalar, Space>& c, const RowDistribution& rows);
  void record(const DoubleDoubleMatrix<Scalar, Space>& c);
  /// Where all results lie one after the other without gaps, high parts before low parts, as they are sent; else null.
  Scalar* in_one_piece() const;
  void forget() noexcept;

  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  void record_reproducible(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                           const DoubleDoubleMatrix<Scalar, Space>& c, bool diagonal = false);
  void reduce_reproducibly();

  /// A result that is wanted on the host: its first rows go to `above`, the others to `below`.
  struct OnHost {
    DoubleDoubleMatrix<Scalar> above;
    SmallMatrix<Scalar> below;
    bool asked = false;
  };
  /// Device memory of such results. What others take there after the first of them must not outlive this object.
  WorkspaceScope<Space>& scope() { return scope_ ? *scope_ : scope_.emplace(context_); }
  /// The result that was added last is wanted on the host.
  void want_on_host(const OnHost& to);
  void hand_over(const OnHost& to, const Scalar* high, const Scalar* low) const;

  static constexpr int max_products = 16;
  Context context_;
  std::optional<WorkspaceScope<Space>> scope_;
  OnHost on_host_[is_host_space<Space> ? 1 : max_products];  // read only if any_on_host_
  bool any_on_host_ = false;
  DoubleDoubleMatrix<Scalar, Space> results_[max_products];  // low has no entries where it is not asked for
  int count_ = 0;
  std::int64_t words_ = 0;
  bool double_double_ = false;
  std::uint64_t tag_ = 0;
  kernels::Matrix<Kernel> v_[max_products], w_[max_products];  // of a reproducible Context
  bool diagonal_[max_products] = {};                           // dots are asked for
  RowDistribution rows_;                                       // theirs
};

/// dots(0, j) = v_j^H w_j, summed over all ranks. dots is 1 x m. One pass over V and W; one reduction of m words.
template <class Scalar, class Layout, class Space>
void column_dots(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                 const SmallMatrix<Scalar, Space>& dots);

/// norms(0, j) = ||v_j||_2, summed over all ranks. norms is 1 x m of the real type. One pass over V; one reduction of m
/// words. Squares are summed, so columns beyond sqrt(largest number) overflow to Inf and below sqrt(smallest) underflow
/// to 0.
template <class Scalar, class Layout, class Space>
void column_norms(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<RealOf<Scalar>, Space>& norms);

/// V <- alpha V. One pass, 2 K m words. alpha = 0 fills with zeros without reading.
template <class Scalar, class Layout, class Space>
void scale(const BlockVector<Scalar, Layout, Space>& v, Scalar alpha);

/// v_j <- factors(0, j) v_j. factors is 1 x m. One pass, 2 K m words.
template <class Scalar, class Layout, class Space>
void scale_columns(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& factors);

/// W = alpha V + beta W; widths agree. One pass, 3 K m words (2 with beta = 0, which never reads W).
template <class Scalar, class Layout, class Space>
void axpby(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v, Scalar beta,
           const BlockVector<Scalar, Layout, Space>& w);

/// W = V, entry by entry; V and W do not overlap, or are the same. One pass, 2 K m words. From one memory space to
/// another: complete when it returns.
template <class Scalar, class Layout, class From, class To>
void copy(const BlockVector<Scalar, Layout, From>& v, const BlockVector<Scalar, Layout, To>& w);

/// Every entry becomes value. One pass, K m words.
template <class Scalar, class Layout, class Space>
void fill(const BlockVector<Scalar, Layout, Space>& v, Scalar value);

/// Uniform in (-1, 1), real and imaginary part independently. Counter-based (Philox 4x64-10, Salmon et al. 2011,
/// through Random123), keyed by (seed, global row, first_column + column): the same numbers on any layout, thread count
/// and rank count. One pass, K m words.
template <class Scalar, class Layout, class Space>
void fill_random(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, std::int64_t first_column = 0);

/// Standard normal numbers, real and imaginary part independently, by Box and Muller from the same generator, and keyed
/// alike.
template <class Scalar, class Layout, class Space>
void fill_normal(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, std::int64_t first_column = 0);

/// This rank's share of C = Omega V for a random Omega (d x K; d, the rows of C, a multiple of 8) that nearly keeps
/// lengths and angles in any fixed space of few dimensions: each column of Omega has 8 entries +-8^-1/2, one in each
/// eighth of its rows, chosen by (seed, global row) only. InnerProducts::add_share sums the shares. One pass over V,
/// no reduction. Source: sparse sign embeddings, Nelson, Nguyen 2013; Martinsson, Tropp 2020, section 9.2.
template <class Scalar, class Layout, class Space>
void sketch_share(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed, const SmallMatrix<Scalar, Space>& c);

/// What each operation moves and computes on this rank: words of tall data in bytes, and flops. One definition for
/// reports, benches and tests.
template <class Scalar>
struct Cost {
  /// V^H W of `rows` rows; `same`: W is V.
  static double inner_product_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool same);
  /// W = alpha V C + beta W; `reads_output`: beta is not 0.
  static double update_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool reads_output);
  /// V <- V C with m and n columns.
  static double multiply_in_place_bytes(std::int64_t rows, std::int64_t m, std::int64_t n);
  /// A sweep of block Gram-Schmidt; `writes`: W changes.
  static double sweep_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool writes);
  /// Of each of these products; complex numbers count as real ones.
  static double product_flops(std::int64_t rows, std::int64_t m, std::int64_t b);
  static double passes_bytes(std::int64_t rows, std::int64_t words_per_row);  ///< for the element-wise operations
};

}  // namespace blockvec
