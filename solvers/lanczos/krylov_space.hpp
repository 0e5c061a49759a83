#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "solvers/lanczos/projected_operator.hpp"

namespace blockvec::solvers {

/// The orthonormal basis of a thick-restart block Lanczos process: [ locked | active ] in one allocation, the next
/// block apart, since A and the work within a block want its rows side by side, and what is deflated apart as well. E
/// (see ProjectedOperator) is zero but for the rows of the last block, or after a restart of all kept Ritz vectors (Wu
/// & Simon 2000, in blocks). H is taken whole from the coefficients of the full reorthogonalisation, so a restart needs
/// no special case. With a B everything is orthonormal in its inner product, in which C is Hermitian then; images under
/// B are kept beside the basis and the next block.
template <class Vector>
class KrylovSpace {
 public:
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar, Space>;
  using Multiply = std::function<void(const Vector&, const Vector&)>;

  /// `deflation` has orthonormal columns, or none; `b_deflation` their images under B, if there is one.
  KrylovSpace(const Context& context, const RowDistribution& rows, const Vector& deflation, std::int64_t columns,
              std::int64_t block, const orth::Options& options, const Multiply& apply_b = {},
              const Vector& b_deflation = {})
      : deflation_(deflation),
        b_deflation_(b_deflation),
        block_(std::min(block, rows.global_rows() - deflation.width())),
        columns_(std::min(columns, rows.global_rows() - deflation.width())),
        basis_(context, rows, columns_, "Krylov basis"),
        previous_block_(context, rows, block_, "Krylov block"),
        next_block_(context, rows, block_, "Krylov block"),
        image_(context, rows, block_, "Krylov block"),
        projected_(context, columns_, block_),
        s_(context, deflation.width() + columns_ + block_, block_, "BlockVec::solvers::projection"),
        own_(context, block_, block_, "BlockVec::solvers::own_part"),
        r_(context, block_, block_, "BlockVec::solvers::triangle"),
        replacing_(context, with(options, orth::Deficiency::replace)),
        dropping_(context, with(options, orth::Deficiency::drop)) {
    metric_.apply = apply_b;
    if (!has_b()) return;
    b_basis_ = Vector(context, rows, columns_, "B Krylov basis");
    b_next_block_ = Vector(context, rows, block_, "B Krylov block");
    b_image_ = Vector(context, rows, block_, "B Krylov block");
  }

  std::int64_t locked() const { return locked_; }
  std::int64_t active() const { return projected_.active(); }
  /// 0: the basis spans an invariant subspace.
  std::int64_t next() const { return projected_.next(); }
  bool is_complete() const { return rows_left(active()) == 0; }
  /// Does another block fit?
  bool has_room() const { return next() > 0 && locked_ + active() + next() <= columns_; }
  /// Why the latest block is not orthonormal, where the orthogonalisation was not free to make it so; empty: it is.
  const std::string& trouble() const { return trouble_; }
  Vector leading_vectors(std::int64_t count) const { return basis_.columns(0, count); }
  Vector active_vectors(std::int64_t count) const { return basis_.columns(locked_, locked_ + count); }
  /// Two columns without gaps in memory that nothing is in before the first start.
  std::pair<Vector, Vector> spare_columns() const {
    const auto column_in = [](const Vector& block) {
      constexpr bool by_rows = std::is_same_v<typename Vector::Layout, RowMajor>;
      const std::int64_t ld = by_rows ? 1 : block.local_rows();
      return Vector::wrap(block.context(), block.rows(), block.data(), 1, ld, "Lanczos vector");
    };
    return {column_in(previous_block_), column_in(image_)};
  }
  const std::vector<Real>& values() const { return projected_.values(); }
  const std::vector<Real>& residuals() const { return projected_.residuals(); }

  /// All that the next block depends on, for an archive that writes it or reads it back (state_archive.hpp). Not in the
  /// midst of a step: Ritz vectors of H are not kept.
  template <class Archive>
  void state(Archive& archive) {
    std::int64_t draws[] = {replacing_.draws(), dropping_.draws()};
    archive(locked_);
    projected_.state(archive, couples_block_);
    archive(draws[0], draws[1]);
    archive.tall(basis_.columns(0, locked_ + active()));
    archive.tall(next_vectors());
    if (couples_block_) archive.tall(coupled_vectors());
    if (has_b()) {
      archive.tall(b_basis_.columns(0, locked_ + active()));
      archive.tall(b_next_block_.columns(0, next()));
    }
    projected_.small(archive);
    replacing_.set_draws(draws[0]);
    dropping_.set_draws(draws[1]);
  }

  /// Begins again with a block of random columns orthogonal to the locked ones, the columns of `near` having been added
  /// a thousand times as long. Returns its width.
  std::int64_t start_random(std::uint64_t seed, std::int64_t first_column, const Vector& near = {}) {
    projected_.start(std::min(block_, rows_left(0)));
    fill_random(next_vectors(), seed, first_column);
    add_scaled(near);
    accept_start();
    return next();
  }

  /// Begins again with combinations of the first `count` active vectors, with random coefficients.
  void start_from_active(std::int64_t count, std::uint64_t seed) {
    const std::int64_t width = std::min({block_, count, rows_left(0)});
    const SmallMatrix<Scalar> coefficients(basis_.context(), random_coefficients(count, width, seed));
    update(Scalar(1), active_vectors(count), coefficients, Scalar(0), next_block_.columns(0, width));
    projected_.start(width);
    accept_start();
  }

  /// Begins again with columns `locked` of the orthonormal V as the locked ones and columns `first`, at most a block of
  /// them, as the starting block.
  void start_from(const Vector& v, const std::vector<std::int64_t>& locked, const std::vector<std::int64_t>& first) {
    locked_ = std::ssize(locked);
    projected_.start(std::ssize(first));
    gather_columns(v, locked, basis_.columns(0, locked_));
    if (has_b() && locked_ > 0) metric_.apply(basis_.columns(0, locked_), b_basis_.columns(0, locked_));
    gather_columns(v, first, next_vectors());
    accept_start();
  }

  /// The last locked column takes the place of this one, which goes. The next thing must be a start.
  void drop_locked(std::int64_t index) {
    --locked_;
    if (index != locked_) for_basis([&](const Vector& all) { copy(all.column(locked_), all.column(index)); });
    projected_.start(0);
    couples_block_ = has_image_ = false;
  }

  /// What C makes of the next block, unless it is known already: a restart changes neither. On a device it is queued.
  /// Returns how many columns C was applied to.
  template <class Transform>
  std::int64_t multiply(const Transform& c) {
    if (has_image_) return 0;
    c.apply(next_vectors(), image_.columns(0, next()));
    has_image_ = true;
    return next();
  }

  /// One block step: the next block joins the basis, and what C makes of it, orthogonalised against everything, is the
  /// new next one. After multiply().
  void extend() {
    const std::int64_t begin = locked_ + active(), width = next(), outside = deflation_.width() + locked_;
    const Vector q = next_vectors();
    const Vector w = image_.columns(0, width);
    copy(q, basis_.columns(begin, begin + width));
    if (has_b()) copy(b_next_block_.columns(0, width), b_basis_.columns(begin, begin + width));
    const Small own = own_.block(0, width, 0, width);
    subtract_local_part(q, w, own);

    // The large parts are gone, so that one sweep is enough mostly. It meets every column of the basis.
    const Small s = s_.block(0, deflation_.width() + begin + width, 0, width);
    const Small r = r_.block(0, width, 0, width);
    const std::int64_t left = rows_left(active() + width);
    // Where hardly any dimensions are left, a block that loses rank becomes narrower; elsewhere random columns replace
    // what is lost.
    const bool replaces = left >= 2 * width;
    auto& orthogonalizer = replaces ? replacing_ : dropping_;
    const orth::Result result =
        orthogonalizer.project_and_normalize(fixed(begin + width), w, &s, &r, metric(b_image_, begin + width, width));
    if (!result.orthonormal) trouble_ = result.describe();
    on_host(
        [&](const auto& s_read, const auto& own_read, const auto& r_read) {
          projected_.append(s_read.block(outside, s_read.rows(), 0, width), own_read);
          projected_.couple_block(r_read, replaces ? width : std::min(result.rank, left));
        },
        reads(s), reads(own), reads(r));
    std::swap(previous_block_, next_block_);
    std::swap(next_block_, image_);
    std::swap(b_next_block_, b_image_);
    couples_block_ = true;
    has_image_ = false;
  }

  void rayleigh_ritz() { projected_.rayleigh_ritz(); }

  /// X's columns become the leading Ritz vectors. After rayleigh_ritz(). One pass over the active vectors.
  void form_ritz_vectors(const Vector& x) const {
    update(Scalar(1), active_vectors(active()), projected_.ritz_vectors(x.width()), Scalar(0), x);
  }

  /// Thick restart: the first `kept` Ritz vectors become the active ones, the next block stays. After rayleigh_ritz().
  void restart(std::int64_t kept) {
    const std::int64_t end = locked_ + active();
    const auto coefficients = projected_.restart(kept);
    for_basis([&](const Vector& all) { multiply_in_place(all.columns(locked_, end), coefficients); });
    couples_block_ = false;
  }

  /// Before a look at the vectors that is to be the last: the active ones become the first `count` Ritz vectors, if
  /// they are no Ritz vectors yet.
  void settle(std::int64_t count) {
    if (std::ssize(values()) < active()) rayleigh_ritz();
    if (couples_block_) restart(std::min(count, active()));
  }

  /// The first `count` active vectors are done: from now on they are projected out and nothing else. Right after
  /// restart().
  void lock(std::int64_t count) {
    locked_ += count;
    projected_.remove(count);
    couples_block_ = false;
  }

 private:
  static orth::Options with(orth::Options options, orth::Deficiency deficiency) {
    options.deficiency = deficiency;
    return options;
  }

  static HostMatrix<Scalar> random_coefficients(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    HostMatrix<Scalar> result("BlockVec::solvers::random", static_cast<std::size_t>(rows),
                              static_cast<std::size_t>(columns));
    for (std::size_t j = 0; j < result.extent(1); ++j) {
      for (std::size_t i = 0; i < result.extent(0); ++i) {
        result(i, j) = Scalar(static_cast<Real>(static_cast<double>(random() >> 11) * 0x1p-52 - 1));
      }
    }
    return result;
  }

  /// Dimensions that are left beside the deflated and the locked columns and `active` others.
  std::int64_t rows_left(std::int64_t active) const {
    return basis_.global_rows() - deflation_.width() - locked_ - active;
  }

  Vector next_vectors() const { return next_block_.columns(0, next()); }
  /// The active vectors that the next block is coupled to: the block before it, or else all that a restart left.
  Vector coupled_vectors() const {
    return couples_block_ ? previous_block_.columns(0, projected_.coupled()) : active_vectors(projected_.coupled());
  }
  /// What a block is made orthogonal to: the deflated columns and the first ones of the basis.
  orth::Basis<Scalar, typename Vector::Layout, Space> fixed(std::int64_t columns) const {
    return {deflation_, basis_.columns(0, columns)};
  }

  bool has_b() const { return static_cast<bool>(metric_.apply); }
  /// For a block whose image under B goes to the first columns of `bw`, beside fixed(columns).
  orth::Metric<Scalar, typename Vector::Layout, Space>* metric(const Vector& bw, std::int64_t columns,
                                                               std::int64_t width) {
    if (!has_b()) return nullptr;
    metric_.image_of_block = bw.columns(0, width);
    metric_.image_of_basis = {b_deflation_, b_basis_.columns(0, columns)};
    return &metric_;
  }
  /// The basis, and its images under B.
  template <class Body>
  void for_basis(const Body& body) const {
    body(basis_);
    if (has_b()) body(b_basis_);
  }

  void accept_start() {
    couples_block_ = has_image_ = false;
    const orth::Result result = replacing_.project_and_normalize(fixed(locked_), next_vectors(), nullptr, nullptr,
                                                                 metric(b_next_block_, locked_, next()));
    if (!result.orthonormal) trouble_ = result.describe();
  }

  void add_scaled(const Vector& near) {
    if (near.width() == 0 || next() == 0) return;
    WorkspaceScope<Space> scope(near.context());
    const auto row = SmallMatrix<Real, Space>::scratch(scope, 1, near.width());
    column_norms(near, row);
    const auto norms = row.to_host();
    const Real random_norm = std::sqrt(static_cast<Real>(near.global_rows()));
    for (std::int64_t j = 0; j < near.width(); ++j) {
      const Real norm = norms(0, static_cast<std::size_t>(j));
      if (norm > 0) axpby(Scalar(1000 * random_norm / norm), near.column(j), Scalar(1), next_block_.column(j % next()));
    }
  }

  /// W -= V_c (V_c^H C Q) + Q (Q^H C Q), the terms of the three-term recurrence: the first coefficients are known, the
  /// others are returned as `own`.
  void subtract_local_part(const Vector& q, const Vector& w, const Small& own) {
    inner_product(has_b() ? b_next_block_.columns(0, q.width()) : q, w, own);
    if (projected_.coupled() > 0) update(Scalar(-1), coupled_vectors(), projected_.coupling(), Scalar(1), w);
    update(Scalar(-1), q, own, Scalar(1), w);
  }

  Vector deflation_, b_deflation_;
  std::int64_t block_;
  std::int64_t columns_;
  Vector basis_;
  Vector previous_block_, next_block_, image_;  // rows side by side
  Vector b_basis_, b_next_block_, b_image_;     // of the basis, of the next block, of the one after it
  orth::Metric<Scalar, typename Vector::Layout, Space> metric_;
  std::int64_t locked_ = 0;
  bool couples_block_ = false;  // coupled is the previous block, which lies apart
  bool has_image_ = false;      // image_ is what C makes of the next block
  ProjectedOperator<Scalar> projected_;
  Small s_, own_, r_;
  std::string trouble_;
  orth::Orthogonalizer replacing_;
  orth::Orthogonalizer dropping_;
};

}  // namespace blockvec::solvers
