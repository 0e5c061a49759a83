#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace blockvec::examples {

/// The orthonormal basis of a thick-restart block Lanczos process: [ locked | active ] in one allocation, and the next
/// block apart, since A and the work within a block want its rows side by side. With the active columns V and the next
/// block Q, C V = V H + Q E^H, where E = V^H C Q is zero but for the last rows: those of the last block, or after a
/// restart of all kept Ritz vectors (Wu & Simon 2000, in blocks). H is taken whole from the coefficients of the full
/// reorthogonalisation, so a restart needs no special case.
template <class Scalar, class Layout>
class KrylovSpace {
 public:
  using Vector = BlockVector<Scalar, Layout>;
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;

  KrylovSpace(const Context& context, const RowDistribution& rows, std::int64_t columns, std::int64_t block,
              const orth::Options& options)
      : block_(std::min(block, rows.global_rows())),
        columns_(std::min(columns, rows.global_rows())),
        basis_(context, rows, columns_, "Krylov basis"),
        previous_block_(context, rows, block_, "Krylov block"),
        next_block_(context, rows, block_, "Krylov block"),
        image_(context, rows, block_, "Krylov block"),
        h_(context, columns_, columns_, "BlockVec::examples::lanczos_h"),
        ritz_vectors_(context, columns_, columns_, "BlockVec::examples::ritz_vectors"),
        coefficients_(context, columns_, columns_, "BlockVec::examples::coefficients"),
        coupling_(context, columns_, block_, "BlockVec::examples::coupling"),
        new_coupling_(context, columns_, block_, "BlockVec::examples::coupling"),
        s_(context, columns_ + block_, block_, "BlockVec::examples::projection"),
        local_(context, columns_ + block_, block_, "BlockVec::examples::local_part"),
        r_(context, block_, block_, "BlockVec::examples::triangle"),
        identity_(context, block_, block_, "BlockVec::examples::identity"),
        row_(context, 1, columns_, "BlockVec::examples::row"),
        replacing_(context, with(options, orth::Deficiency::replace)),
        dropping_(context, with(options, orth::Deficiency::drop)) {
    orth::dense::set_identity(identity_);
  }

  std::int64_t locked() const { return locked_; }
  std::int64_t active() const { return active_; }
  /// 0: the basis spans an invariant subspace.
  std::int64_t next() const { return next_; }
  bool is_complete() const { return locked_ + active_ == basis_.global_rows(); }
  /// Does another block fit?
  bool has_room() const { return next_ > 0 && locked_ + active_ + next_ <= columns_; }
  /// Why the latest block is not orthonormal, where the orthogonalisation was not free to make it so; empty: it is.
  const std::string& trouble() const { return trouble_; }
  Vector leading_vectors(std::int64_t count) const { return basis_.columns(0, count); }
  Vector locked_vectors() const { return basis_.columns(0, locked_); }
  Vector active_vectors(std::int64_t count) const { return basis_.columns(locked_, locked_ + count); }

  /// Ritz values of C, ascending, and their residual norms by the last coupling. From rayleigh_ritz().
  const std::vector<Real>& values() const { return values_; }
  const std::vector<Real>& residuals() const { return residuals_; }

  /// All that the next block depends on, for an archive that writes it or reads it back (state_archive.hpp). Not in the
  /// midst of a step: Ritz vectors of H are not kept.
  template <class Archive>
  void state(Archive& archive) {
    std::int64_t draws[] = {replacing_.draws(), dropping_.draws()};
    archive(locked_, active_, next_, coupled_, couples_block_, values_, residuals_, draws[0], draws[1]);
    archive.tall(basis_.columns(0, locked_ + active_));
    archive.tall(next_vectors());
    if (couples_block_) archive.tall(coupled_vectors());
    archive.small(h_.block(0, active_, 0, active_));
    archive.small(coupling());
    replacing_.set_draws(draws[0]);
    dropping_.set_draws(draws[1]);
  }

  /// Begins again with a block of random columns orthogonal to the locked ones. Returns its width.
  std::int64_t start_random(std::uint64_t seed, std::int64_t first_column) {
    next_ = std::min(block_, rows_left(0));
    active_ = 0;
    fill_random(next_vectors(), seed, first_column);
    return accept_start();
  }

  /// Begins again with combinations of the first `count` active vectors, with random coefficients.
  std::int64_t start_from_active(std::int64_t count, std::uint64_t seed) {
    next_ = std::min({block_, count, rows_left(0)});
    const Small coefficients = coefficients_.block(0, count, 0, next_);
    coefficients.from_host(random_coefficients(count, next_, seed));
    update(Scalar(1), active_vectors(count), coefficients, Scalar(0), next_vectors());
    active_ = 0;
    return accept_start();
  }

  /// Begins again with columns `locked` of the orthonormal V as the locked ones and columns `first`, at most a block of
  /// them, as the starting block.
  void start_from(const Vector& v, const std::vector<std::int64_t>& locked, const std::vector<std::int64_t>& first) {
    locked_ = std::ssize(locked);
    active_ = 0;
    next_ = std::ssize(first);
    for (std::int64_t i = 0; i < locked_; ++i) copy(v.column(locked[static_cast<std::size_t>(i)]), basis_.column(i));
    for (std::int64_t i = 0; i < next_; ++i) copy(v.column(first[static_cast<std::size_t>(i)]), next_block_.column(i));
    accept_start();
  }

  /// The last locked column takes the place of this one, which goes. The next thing must be a start.
  void drop_locked(std::int64_t index) {
    --locked_;
    if (index != locked_) copy(basis_.column(locked_), basis_.column(index));
    active_ = next_ = 0;
    couple(0, false);
  }

  /// One block step: the next block joins the basis, and what C makes of it, orthogonalised against everything, is the
  /// new next one.
  template <class Transform>
  void extend(const Transform& c) {
    const std::int64_t begin = locked_ + active_;
    const std::int64_t width = next_;
    const Vector q = next_vectors();
    const Vector w = image_.columns(0, width);
    copy(q, basis_.columns(begin, begin + width));
    c.apply(q, w);
    subtract_local_part(q, w);

    // The large parts are gone, so that one sweep is enough mostly. It meets every column of the basis.
    const Small s = s_.block(0, begin + width, 0, width);
    const Small r = r_.block(0, width, 0, width);
    const std::int64_t left = rows_left(active_ + width);
    // Where hardly any dimensions are left, a block that loses rank becomes narrower; elsewhere random columns replace
    // what is lost.
    const bool replaces = left >= 2 * width;
    auto& orthogonalizer = replaces ? replacing_ : dropping_;
    const orth::Result result = orthogonalizer.project_and_normalize(basis_.columns(0, begin + width), w, &s, &r);
    if (!result.orthonormal) trouble_ = result.describe();

    const Small h = h_.block(0, active_ + width, active_, active_ + width);
    orth::dense::copy(s.block(locked_, begin + width, 0, width), h);
    orth::dense::axpby(Scalar(1), local_.block(0, coupled_ + width, 0, width), Scalar(1),
                       h.block(active_ - coupled_, active_ + width, 0, width));
    active_ += width;
    std::swap(previous_block_, next_block_);
    std::swap(next_block_, image_);
    couple(width, true);
    next_ = replaces ? width : std::min(result.rank, left);
    orth::dense::multiply(Scalar(1), r.block(0, next_, 0, width), true, identity_.block(0, next_, 0, next_), false,
                          Scalar(0), coupling());
  }

  /// Eigenpairs of H, and the residual norms that the coupling implies.
  void rayleigh_ritz() {
    const Small z = ritz_vectors_.block(0, active_, 0, active_);
    const auto row = row_.block(0, 1, 0, active_);
    orth::dense::eigendecomposition(h_.block(0, active_, 0, active_), row, z);
    values_ = read(row);
    const Small rest = coefficients_.block(0, next_, 0, active_);
    orth::dense::multiply(Scalar(1), coupling(), true, z.block(active_ - coupled_, active_, 0, active_), false,
                          Scalar(0), rest);
    orth::dense::column_squares(rest, row);
    residuals_ = read(row);
    for (Real& residual : residuals_) residual = std::sqrt(residual);
  }

  /// Thick restart: the first `kept` Ritz vectors become the active ones, the next block stays. After rayleigh_ritz().
  void restart(std::int64_t kept) {
    const Small z = ritz_vectors_.block(0, active_, 0, kept);
    orth::dense::multiply(Scalar(1), z.block(active_ - coupled_, active_, 0, kept), true, coupling(), false, Scalar(0),
                          new_coupling_.block(0, kept, 0, next_));
    multiply_in_place(active_vectors(active_), z);
    std::swap(coupling_, new_coupling_);
    active_ = kept;
    couple(active_, false);
    values_.resize(static_cast<std::size_t>(kept));
    residuals_.resize(static_cast<std::size_t>(kept));
    set_h_to_values();
  }

  /// Before a look at the vectors that is to be the last: the active ones become the first `count` Ritz vectors, if
  /// they are no Ritz vectors yet.
  void settle(std::int64_t count) {
    if (couples_block_) restart(std::min(count, active_));
  }

  /// The first `count` active vectors are done: from now on they are projected out and nothing else. Right after
  /// restart().
  void lock(std::int64_t count) {
    locked_ += count;
    active_ -= count;
    couple(active_, false);
    orth::dense::copy(coupling_.block(count, count + active_, 0, next_), new_coupling_.block(0, active_, 0, next_));
    std::swap(coupling_, new_coupling_);
    values_.erase(values_.begin(), values_.begin() + count);
    residuals_.erase(residuals_.begin(), residuals_.begin() + count);
    set_h_to_values();
  }

 private:
  static orth::Options with(orth::Options options, orth::Deficiency deficiency) {
    options.deficiency = deficiency;
    return options;
  }

  static std::vector<Real> read(const SmallMatrix<Real>& row) {
    const auto host = row.to_host();
    return std::vector<Real>(host.data(), host.data() + host.extent(1));
  }

  static HostMatrix<Scalar> random_coefficients(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    HostMatrix<Scalar> result("BlockVec::examples::random", static_cast<std::size_t>(rows),
                              static_cast<std::size_t>(columns));
    for (std::size_t j = 0; j < result.extent(1); ++j) {
      for (std::size_t i = 0; i < result.extent(0); ++i) {
        result(i, j) = Scalar(static_cast<Real>(static_cast<double>(random() >> 11) * 0x1p-52 - 1));
      }
    }
    return result;
  }

  /// Dimensions that are left beside the locked columns and `active` others.
  std::int64_t rows_left(std::int64_t active) const { return basis_.global_rows() - locked_ - active; }

  /// V^H C Q for the active columns to which Q is coupled, the last ones: coupled x next.
  Small coupling() const { return coupling_.block(0, coupled_, 0, next_); }

  Vector next_vectors() const { return next_block_.columns(0, next_); }

  std::int64_t accept_start() {
    couple(0, false);
    values_.clear();
    residuals_.clear();
    const orth::Result result = replacing_.project_and_normalize(locked_vectors(), next_vectors());
    if (!result.orthonormal) trouble_ = result.describe();
    return next_;
  }

  /// C Q has a part in the last `count` active vectors: the block before Q, or else all that a restart left.
  void couple(std::int64_t count, bool is_block) {
    coupled_ = count;
    couples_block_ = is_block;
  }
  Vector coupled_vectors() const {
    return couples_block_ ? previous_block_.columns(0, coupled_) : active_vectors(coupled_);
  }

  /// W -= V_c (V_c^H C Q) + Q (Q^H C Q): the terms of the three-term recurrence, whose coefficients are known or cheap.
  void subtract_local_part(const Vector& q, const Vector& w) {
    const Small known = local_.block(0, coupled_, 0, next_);
    const Small own = local_.block(coupled_, coupled_ + next_, 0, next_);
    orth::dense::copy(coupling(), known);
    inner_product(q, w, own);
    if (coupled_ > 0) update(Scalar(-1), coupled_vectors(), known, Scalar(1), w);
    update(Scalar(-1), q, own, Scalar(1), w);
  }

  void set_h_to_values() {
    HostMatrix<Scalar> h("BlockVec::examples::diagonal", values_.size(), values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) h(i, i) = Scalar(values_[i]);
    h_.block(0, active_, 0, active_).from_host(h);
  }

  std::int64_t block_;
  std::int64_t columns_;
  Vector basis_;
  Vector previous_block_, next_block_, image_;  // rows side by side
  std::int64_t locked_ = 0;
  std::int64_t active_ = 0;
  std::int64_t next_ = 0;
  std::int64_t coupled_ = 0;
  bool couples_block_ = false;
  Small h_, ritz_vectors_, coefficients_;  // upper triangle of H; eigenvectors of H; room for others
  Small coupling_, new_coupling_;
  Small s_, local_, r_, identity_;
  SmallMatrix<Real> row_;
  std::vector<Real> values_;
  std::vector<Real> residuals_;
  std::string trouble_;
  orth::Orthogonalizer replacing_;
  orth::Orthogonalizer dropping_;
};

}  // namespace blockvec::examples
