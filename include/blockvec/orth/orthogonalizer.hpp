#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/orth/basis.hpp>
#include <blockvec/orth/metric.hpp>
#include <blockvec/small_matrix.hpp>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// Orthogonalisation of block vectors: project a new block W (K x b) against an orthonormal basis V (K x m) and make it
/// orthonormal. Any method within a block combines with any method against the basis.
namespace blockvec::orth {

/// Methods within a block: X = Q R. Loss is the loss of orthogonality |I - Q^H Q| without escalation; kappa is the
/// condition number of X with its columns scaled to unit length. Reductions are those for a block of b columns.
enum class Within {
  /// Classical Gram-Schmidt by columns. Loss: eps kappa^2. Takes b reductions, and one more for every column whose
  /// length cancels. On a device the host waits once for all columns, and again for each that asks for more than the
  /// others.
  cgs,
  /// Each column projected twice. Loss: eps while eps kappa < 1. Takes 2b - 1 reductions.
  cgs2,
  /// Gram matrix and Cholesky factorisation. Loss: eps kappa^2; breaks near kappa = eps^-1/2. Takes 1 reduction.
  cholqr,
  /// CholQR twice. Loss: eps; breaks where CholQR does. Takes 2 reductions (Yamamoto, Nakatsukasa, Yanagisawa, Fukaya
  /// 2015).
  cholqr2,
  /// Gram matrix and eigendecomposition, small eigenvalues lifted, repeated until orthonormal, up to 6 sweeps. Loss:
  /// eps. Takes 1 reduction a sweep; of more than 32 columns 2, the second for the eigenvectors, which the first rank
  /// computes for all (Stathopoulos, Wu 2002).
  svqb,
  /// CholQR with a shift of 11 (K b + b (b + 1)) u, then CholQR2. Loss: eps while kappa is below about (eps
  /// shift)^-1/2; the shorter the columns, the nearer to 1 / eps. Takes 3 reductions (Fukaya, Kannan, Nakatsukasa,
  /// Yamamoto, Yanagisawa 2020).
  shifted_cholqr3,
  /// CholQR with Gram matrix and factor in double-double. Loss: eps kappa; breaks near 1 / eps. Takes 1 reduction
  /// (Yamazaki, Tomov, Dongarra 2015).
  dd_cholqr,
  /// dd_cholqr, then CholQR. Loss: eps; breaks where dd_cholqr does. Takes 2 reductions.
  dd_cholqr2,
  /// Householder reflections in a tree over chunks of rows and ranks. Loss: eps for any block. Takes 1 reduction,
  /// besides the one for the first look (Demmel, Grigori, Hoemmen, Langou 2012).
  tsqr,
  /// CholQR after division by the R of a random sketch, signs in few places. Loss: eps with high probability to near
  /// 1 / eps. Takes 2 reductions (Higgins, Boman, Yamazaki 2023; Balabanov 2022).
  rand_cholqr,
  /// The same with a sketch of normal numbers, which takes longer than the rest together.
  rand_cholqr_gauss,
  /// dd_cholqr2 with columns taken by decreasing pivots. Loss: eps. Columns at the rank tolerance are lost, so that
  /// it neither breaks nor escalates where columns are dependent. Takes 2 reductions.
  pivoted_cholqr
};
// Words a row for a block of b columns, without a basis: of a method with n reductions (2n + 1)b, or 3nb on a device;
// b more for rand-cholqr's sketch; tsqr 5b; pcholqr 4b more where columns change places. What is so ill-conditioned
// that it is divided by substitution takes up to log2(b) b / 2 more a sweep. Dependent columns: Cholesky breaks for
// them and says so (cholqr, cholqr2, dd-cholqr, dd-cholqr2; rand-cholqr by its sketch); scholqr3, svqb and tsqr give
// them some direction, and the rank counts the others; cgs, cgs2 and pcholqr name them. With escalation all end with
// what Deficiency asks for.
// Under a metric, dd-cholqr is cholqr, and dd-cholqr2, tsqr, rand-cholqr and pcholqr are cholqr2. In a reproducible
// Context tsqr is dd-cholqr2, and rand-cholqr is rand-cholqr-gauss. Result::method says so, Result::reason why.

/// Methods against a basis: X = V S + Q R. Loss is the loss of orthogonality of [V Q]; kappa is the condition number of
/// all that is orthogonalised. Reductions are those for a block: i stands for those of the method within it, k for the
/// blocks of V.
/// The last four methods postpone work until the next block. Only factorize() has a next block. Verbs for one block
/// replace p-1s, p-1s2s, two-stage and pip+ by pipi+ (p-1s2s goes on like p-2s where PIP breaks), and p-2s by
/// projection, the method within and PIP, in 2 + i reductions.
/// Sources: [1] Carson, Lund, Rozloznik, Thomas 2022, [2] Barlow, Smoktunowicz 2013, [3] Carson, Lund, Ma, Oktay 2025,
/// [4] Carson, Ma 2024, [5] Yamazaki et al. 2024.
enum class Between {
  /// One projection, then the method within the block. No useful bound. Takes 1 + i reductions [1].
  bcgs,
  /// Projected on V block by block (Options::basis_width), then the method within. Loss: eps kappa. Takes k + i
  /// reductions [1].
  bmgs,
  /// Projected and normalised twice. Loss: eps while eps kappa < 1, with a strong method within. Takes 2 + 2i
  /// reductions [2].
  bcgs2,
  /// The same with CholQR within, except for the first block. Loss: eps while each block, and what projection leaves
  /// of it, has kappa below eps^-1/2. Takes 4 reductions [3].
  bcgsi_a,
  /// Projection and Gram matrix in one reduction, the factor by Pythagoras. Loss: eps kappa^2. Takes 1 reduction [3].
  pip,
  /// PIP over all blocks, then again. Loss: eps while eps kappa^2 <= 1/2. Takes 2 reductions [3].
  pip_plus,
  /// PIP twice for each block. Loss: as pip_plus. Takes 2 reductions [3].
  pipi_plus,
  /// PIP with V^H V, V^H W, W^H W and the factor to twice the precision, V's own defects taken into account, then
  /// PIP. Loss: eps while eps kappa < 1. Takes 2 reductions. V^H V grows from block to block in factorize(); for one
  /// block it is computed in the same reduction, m^2 products a row. Under a metric, whose image is not that precise,
  /// it is pipi+. (The correction by V^H V: PRIMME, in working precision.)
  pip_dd,
  /// PIP twice, the second time in the reduction of the next block's first. Loss: as pip_plus. Takes 1 reduction [4].
  p_1s,
  /// Projection and the method within, then PIP in the reduction of the next block's projection. Loss: eps while eps
  /// kappa <= 1/2, with a strong method within. Takes 1 + i reductions [4].
  p_2s,
  /// p-1s, and p-2s from the first block on where PIP breaks, or leaves a Gram matrix with a condition of 3 or more.
  /// Loss: as p_2s. Takes 1 reduction as long as that does not happen; 2 for blocks of more than 32 columns, whose
  /// eigenvalues the first rank computes for all [4].
  p_adaptive,
  /// PIP for each block, then once more for panels of many (Options::panel_width). Loss: as pipi_plus. Takes 1
  /// reduction, and 1 a panel [5].
  two_stage
};
// PIP factorises a Gram matrix whatever the method within: by eigendecomposition for svqb, else by Cholesky.

/// What happens to columns that are numerically dependent on V and the columns before them.
enum class Deficiency {
  replace,  ///< random columns, orthogonal to everything, take their place: W keeps b orthonormal columns
  drop,     ///< the first `rank` columns of W are orthonormal, in their old order, the others zero
  report    ///< as drop, then throws RankError
};

/// Why something else was done than what was asked.
enum class Reason {
  none,             ///< it was done as asked
  not_here,         ///< the chosen method knows no metric, or depends on how rows are spread, in a reproducible Context
  badly_scaled,     ///< columns were scaled by powers of two, since their squares would leave the range of the type
  ill_conditioned,  ///< the condition of the block asks for more than the chosen method can do
  breakdown,        ///< the Cholesky factorisation met a pivot that is zero to rounding
  rank_deficient,   ///< columns were dependent
  bad_basis,        ///< V is so far from orthonormal that projections on it do not settle
  no_room  ///< columns were dependent, and there are too few rows for as many orthonormal columns: some are zero
};

/// How an Orthogonalizer works.
struct Options {
  Between between = Between::pipi_plus;         ///< the method against the basis
  Within within = Within::cholqr2;              ///< the method within a block
  Deficiency deficiency = Deficiency::replace;  ///< what happens to dependent columns
  /// Go on to a stronger method where known quantities show that the chosen one does not reach rounding level; false:
  /// do what was asked and say how it went.
  bool escalate = true;
  /// Leave out the second sweep of cholqr2, bcgs2 and pipi+ where known quantities show that the first was enough
  /// (see Orthogonalizer), or its projection where that was.
  bool adaptive = true;
  std::uint64_t seed = 1;        ///< of the random columns
  std::int64_t basis_width = 0;  ///< bmgs: columns of V's blocks; 0: as many as W has
  std::int64_t panel_width = 0;  ///< two-stage: columns of a panel, a multiple of the block's; 0: 8 blocks
};

/// "pipi+/cholqr2", "bcgs2/svqb", "pip", "/cgs2" ... A missing half keeps its default. Throws Error naming the known
/// words.
Options parse_options(std::string_view text);
/// "bcgs, bmgs, ... / cgs, cgs2, ...".
std::string known_methods();
///@{
/// The word that parse_options knows; of a reason a sentence for people.
std::string to_string(Between between);
std::string to_string(Within within);
std::string to_string(Reason reason);
///@}

/// What was done. Printed as "pipi+/cholqr2"; without a basis "cholqr2", for project() "pipi+".
struct Method {
  Between between = Between::pipi_plus;  ///< against the basis
  Within within = Within::cholqr2;       ///< within the block
  bool has_between = false;              ///< whether there was a basis
  bool has_within = false;               ///< whether the block was made orthonormal
};
///@{
/// For people, as above.
std::string to_string(const Method& method);
std::ostream& operator<<(std::ostream& stream, const Method& method);
std::ostream& operator<<(std::ostream& stream, Reason reason);
///@}

/// What was done, and how well it went. The same on every rank.
struct [[nodiscard]] Result {
  std::int64_t rank = 0;          ///< columns of W that were independent of V and of one another
  double condition_estimate = 1;  ///< of the projected block with unit columns, from its factor: a lower bound
  bool orthonormal =
      true;        ///< false where a method broke down and was not to escalate; X = V S + W R holds all the same
  int sweeps = 0;  ///< rounds of projection and normalisation
  std::int64_t reductions = 0;    ///< over all ranks
  std::int64_t applications = 0;  ///< columns that the metric's B was applied to
  double passes = 0;              ///< words of tall data moved, in units of the block (K b words)
  Method method;                  ///< finally used
  Reason reason = Reason::none;   ///< why something else was done than asked
  std::vector<std::int64_t>
      lost;  ///< the columns of W found dependent (input numbering); empty, and no allocation, at full rank

  /// One line: "rank 8, pipi+/cholqr2, 2 sweeps, 2 reductions, 31.0 passes, condition >= 1.2e+03".
  std::string describe() const;
};

/// Thrown under Deficiency::report when all work is done; names the rank and the columns. W, S, R, B W and the
/// context's history are then what Deficiency::drop gives: X = V S + W R holds.
class RankError : public Error {
 public:
  /// With what the verb would have returned.
  RankError(const std::string& message, Result result) : Error(message), result_(std::move(result)) {}
  const Result& result() const { return result_; }  ///< what the verb would have returned

 private:
  Result result_;
};

/// A column of W counts as dependent if the remainder of it beside V (m columns) and the columns before it is at most
/// this share of its norm: 8 sqrt(m + b) eps, a little above what rounding leaves of a column that is dependent
/// exactly.
template <class Scalar>
RealOf<Scalar> rank_tolerance(std::int64_t m, std::int64_t b);

class Orthogonalizer;

/// What Orthogonalizer::submit returns: a value that is moved, not copied. It holds the memory that the queued sweeps
/// work in, so it lives as long as a CUDA graph that they were captured in may be launched.
template <class Scalar, class Layout, class Space>
class [[nodiscard]] Submitted {
 public:
  /// Takes over what was queued.
  Submitted(Submitted&&) noexcept;
  /// As its destructor, then takes over what was queued.
  Submitted& operator=(Submitted&&) noexcept;
  /// Without a get before, it waits for what has been queued, and W is as that has left it.
  ~Submitted();

  /// What project_and_normalize returns, or throws: waits for the verdicts of the sweeps that were queued, goes on from
  /// there where they are not enough, and sets S and R. Once, or once after each launch of a graph; throws Error (or
  /// CudaError, where no sweeps are under way) if it is asked for more. Collective.
  Result get();
  /// After get(): whether W is what the queued sweeps made of it, so that what has been ordered after submit() saw the
  /// final W. False: get() has changed it.
  bool left_to_device() const;

 private:
  friend class Orthogonalizer;
  struct State;
  explicit Submitted(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Orthogonalises blocks. How it decides: every sweep yields S, a factor R of W and the lengths D of W's columns.
/// a = ||D R^-1||_2^2 bounds what rounding does in this sweep: ||V^H Q|| <= c eps sqrt(a), ||I - Q^H Q|| <= c eps a,
/// with a small c that grows slowly with m and b; ||S R^-1|| bounds what V hands on of its own defects. Where a <= 64
/// and ||S R^-1|| <= 1/8, V has been dealt with, and the next sweep leaves it out, unless it is queued on a
/// device before anybody knows; where a <= 8 besides, there is no next sweep. Where a shows that the factor is noise, W
/// is left as it is and the strong method takes over: a block projection, CholQR in double-double or, where that shows
/// columns to be dependent, Gram-Schmidt by columns repeated until nothing cancels, then PIP. All this comes from small
/// matrices that are known, so it costs neither a pass nor a reduction, and all ranks decide alike.
///
/// All verbs: V, a block vector or several ({locked, V}; m columns in all, orthonormal together), and W share context
/// and rows and do not overlap; S (m x b) and R (b x b) are optional. Widths from 0 up. Lengths, angles and
/// orthonormality are those of the metric where one is given. Columns whose squares would overflow or underflow are
/// scaled first. Throws ShapeError naming operands; NotFiniteError naming operand and column if W, V or the first B W
/// holds NaN or Inf, W being as it was; the same for what a later B W, or B V, brings in, W being as far as it had
/// come; RankError as asked, with all outputs set. Collective: all ranks decide alike, since they hold the same bits.
/// On a device the host waits for the result of a reduction by which it decides what comes next, once, and for nothing
/// else; cgs and cgs2 wait once for the reductions of all columns. S and R there are set without a wait.
class Orthogonalizer {
 public:
  /// For block vectors of this Context.
  explicit Orthogonalizer(Context context, Options options = {}) : context_(std::move(context)), options_(options) {}
  /// Where it works.
  const Context& context() const { return context_; }
  /// How it works.
  const Options& options() const { return options_; }

  /// Random columns drawn so far, which replace dependent columns or make sketches. What is drawn next depends on this
  /// count and the seed only: one that is set to the count of another goes on with the same bits.
  std::int64_t draws() const { return draws_; }
  /// Goes on as an Orthogonalizer that has drawn so many.
  void set_draws(std::int64_t draws) { draws_ = draws; }

  /// W <- (I - V V^H) W; W_in = V S + W_out. V has orthonormal columns. W is not normalised.
  /// One sweep, a second one for methods that project twice or where more than 1/64 of a column's square went. A sweep:
  /// one reduction, for which the host waits on a device; 2m + 3b words. result.rank counts the columns that are not in
  /// the range of V; result.lost names the others, whose rest is noise. Without columns of V, W is looked at: one
  /// reduction, b words.
  template <class Scalar, class Layout, class Space>
  Result project(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                 const BlockVector<Scalar, Layout, Space>& w,
                 const std::type_identity_t<SmallMatrix<Scalar, Space>>* s = nullptr,
                 const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric = nullptr);

  /// W <- Q with orthonormal columns and W_in = Q R. R is upper triangular, except for SVQB, whose R is full.
  /// Columns that were replaced have zero rows in R.
  template <class Scalar, class Layout, class Space>
  Result normalize(const BlockVector<Scalar, Layout, Space>& w,
                   const std::type_identity_t<SmallMatrix<Scalar, Space>>* r = nullptr,
                   const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric = nullptr);

  /// The same with Q in a place of its own: X = Q R, and X stays as it is. X and Q are alike and do not overlap. Where
  /// the method within is cholqr or cholqr2, the options escalate and are adaptive, and X is not ill-conditioned, X is
  /// read twice and Q written once, 3b words for one sweep; else X is copied and Q normalised, 2b words more than
  /// there.
  template <class Scalar, class Layout, class Space>
  Result normalize_into(const BlockVector<Scalar, Layout, Space>& x, const BlockVector<Scalar, Layout, Space>& q,
                        const std::type_identity_t<SmallMatrix<Scalar, Space>>* r = nullptr);

  /// Both: W_in = V S + Q R, [V Q] orthonormal. V may have no columns. Default method: one or two sweeps, each one
  /// reduction; 2m + 3b words a row for one, 3m + 5b for two. The same on a device where a change and the next products
  /// are one pass (kernels::cuda_sweeps_in_one_pass); elsewhere there 2m + 3b each where W follows V in one block
  /// vector, and 2m + 6b where it does not. The host waits once a sweep, for its verdict; where W follows V the device
  /// is at the change of W meanwhile (see submit). With a metric 2m + 5b each, and 2b at first, products being those of
  /// V and B W: B comes between them and the change of W. Where B V is known, m + 2b each for B W instead of an
  /// application. With a metric, too, the host waits once a reduction, and for what B waits for.
  template <class Scalar, class Layout, class Space>
  Result project_and_normalize(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                               const BlockVector<Scalar, Layout, Space>& w,
                               const std::type_identity_t<SmallMatrix<Scalar, Space>>* s = nullptr,
                               const std::type_identity_t<SmallMatrix<Scalar, Space>>* r = nullptr,
                               const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric = nullptr);

  /// project_and_normalize in two halves: this one queues both sweeps, needed or not, and get() of what it returns
  /// waits once for their verdicts and does the rest. What is ordered on the context's instance in between sees W after
  /// as many sweeps as the device found needed and could trust, one or two. For the rare block that needs more, get()
  /// changes W again, and left_to_device() tells. S and R are set by get(). V is read, and W written, until get()
  /// returns: they keep their values till then; what changes them earlier makes S, R and a W that get() changes wrong.
  /// This object, its options and its place stay as they are as well.
  ///
  /// Sweeps are queued in device memory, without a metric, of up to 64 columns that follow V in one block vector (or
  /// without V, by CholQR or CholQR2), where the method begins with PIP by Cholesky (pipi+, pip, pip+, p-1s, p-1s2s,
  /// two-stage). All other calls, and those on the host, do all the work here and throw what there is to throw, and
  /// get() hands over the result. Over several ranks without NCCL this waits for each reduction (Context::sum_in).
  ///
  /// On one rank what is queued may be captured in a CUDA graph, after a call of that size that was not captured and
  /// whose memory is free again. Each launch is the same call on what V and W hold by then, and get() may follow it.
  /// Cost as project_and_normalize, and one small allocation on the host.
  template <class Scalar, class Layout, class Space>
  Submitted<Scalar, Layout, Space> submit(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                                          const BlockVector<Scalar, Layout, Space>& w,
                                          const std::type_identity_t<SmallMatrix<Scalar, Space>>* s = nullptr,
                                          const std::type_identity_t<SmallMatrix<Scalar, Space>>* r = nullptr,
                                          const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric = nullptr);

  /// X (K x n) <- Q with orthonormal columns and X_in = Q R, by blocks of `width` columns (the last may be narrower). R
  /// (n x n) is upper triangular; block upper triangular where SVQB took part. The only verb in which all of Between
  /// are themselves, with the reductions stated there for each block but the first, which has nothing to be projected
  /// on: it takes those of the method within, and is made orthonormal by it only. p-1s, p-2s and p-1s2s add one at the
  /// end. Words of a block beside m columns, on the host: p-1s 2m + 4b, p-2s 2m + 6b (CholQR within; the block before
  /// changes in the same pass), two-stage 2m + 3b and as many again for a panel, others as in project_and_normalize();
  /// with a metric each of both blocks changes in a pass of its own. Dependent columns are treated as
  /// Options::deficiency says: dropped ones leave their zeros at the end of X. Without escalation the first block that
  /// breaks a method ends it; X_in = X R holds all the same. NotFiniteError comes when the block in question is met: it
  /// and the columns after it are as they were.
  template <class Scalar, class Layout, class Space>
  Result factorize(const BlockVector<Scalar, Layout, Space>& x,
                   const std::type_identity_t<SmallMatrix<Scalar, Space>>* r, std::int64_t width,
                   const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric = nullptr);
  /// The same beside a basis of at most three pieces: X_in = V S + Q R, [V Q] orthonormal. The first block has
  /// something to be projected on then, and takes what verbs for one block do.
  template <class Scalar, class Layout, class Space>
  Result factorize(const std::type_identity_t<Basis<Scalar, Layout, Space>>& v,
                   const BlockVector<Scalar, Layout, Space>& x,
                   const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                   const std::type_identity_t<SmallMatrix<Scalar, Space>>* r, std::int64_t width,
                   const std::type_identity_t<Metric<Scalar, Layout, Space>>* metric = nullptr);

 private:
  template <class, class, class>
  friend class Submitted;

  Context context_;
  Options options_;
  std::int64_t draws_ = 0;  // random columns drawn so far
};

/// ||I - V^H V||_F, measured: one pass, one reduction.
template <class Scalar, class Layout, class Space>
RealOf<Scalar> orthogonality_loss(const BlockVector<Scalar, Layout, Space>& v);

}  // namespace blockvec::orth
