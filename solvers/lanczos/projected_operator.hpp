#pragma once

#include <algorithm>
#include <blockvec/orth/dense.hpp>
#include <cmath>
#include <utility>
#include <vector>

namespace blockvec::solvers {

/// What a Krylov space knows of C in small matrices. With its active columns V and the next block Q,
/// C V = V H + Q E^H: H = V^H C V, and E = V^H C Q is zero but for its last `coupled` rows, which the coupling holds.
/// They lie on the host, wherever the vectors are: what a block adds to them is read once, and nothing waits after
/// that.
template <class Scalar>
class ProjectedOperator {
 public:
  using Real = RealOf<Scalar>;
  using Small = SmallMatrix<Scalar>;

  ProjectedOperator(const Context& context, std::int64_t columns, std::int64_t block)
      : h_(context, columns, columns, "BlockVec::solvers::lanczos_h"),
        ritz_vectors_(context, columns, columns, "BlockVec::solvers::ritz_vectors"),
        room_(context, columns, columns, "BlockVec::solvers::coefficients"),
        coupling_(context, columns, block, "BlockVec::solvers::coupling"),
        new_coupling_(context, columns, block, "BlockVec::solvers::coupling"),
        identity_(context, block, block, "BlockVec::solvers::identity"),
        row_(context, 1, columns, "BlockVec::solvers::row") {
    orth::dense::set_identity(identity_);
  }

  std::int64_t active() const { return active_; }
  std::int64_t next() const { return next_; }
  std::int64_t coupled() const { return coupled_; }
  /// V^H C Q for the active columns to which Q is coupled, the last ones: coupled x next.
  Small coupling() const { return coupling_.block(0, coupled_, 0, next_); }
  /// Ritz values, ascending, and their residual norms by the last coupling. From rayleigh_ritz().
  const std::vector<Real>& values() const { return values_; }
  const std::vector<Real>& residuals() const { return residuals_; }

  /// The leading Ritz vectors in terms of the active columns. From rayleigh_ritz().
  Small ritz_vectors(std::int64_t count) const { return ritz_vectors_.block(0, active_, 0, count); }

  /// What a checkpoint keeps, apart from small(); `is_block` is the space's.
  template <class Archive>
  void state(Archive& archive, bool& is_block) {
    archive(active_, next_, coupled_, is_block, values_, residuals_);
  }
  template <class Archive>
  void small(Archive& archive) {
    archive.small(h_.block(0, active_, 0, active_));
    archive.small(coupling());
  }

  /// No active columns, and a first block of this width.
  void start(std::int64_t next) {
    active_ = coupled_ = 0;
    next_ = next;
    values_.clear();
    residuals_.clear();
  }

  /// Q has joined the active columns. H's new columns are s (all active ones x width) and what was subtracted before s
  /// was measured: the coupling, and own = Q^H C Q.
  void append(const Small& s, const Small& own) {
    const std::int64_t width = s.columns(), after = s.rows(), before = after - width;
    const Small h = h_.block(0, after, before, after);
    orth::dense::copy(s, h);
    orth::dense::axpby(Scalar(1), coupling(), Scalar(1), h.block(before - coupled_, before, 0, width));
    orth::dense::axpby(Scalar(1), own, Scalar(1), h.block(before, after, 0, width));
    active_ = after;
  }
  /// What was left of C Q is the new next block times r.
  void couple_block(const Small& r, std::int64_t next) {
    coupled_ = r.columns();
    next_ = next;
    orth::dense::multiply(Scalar(1), r.block(0, next, 0, coupled_), true, identity_.block(0, next, 0, next), false,
                          Scalar(0), coupling());
  }

  /// Eigenpairs of H, and the residual norms that the coupling implies.
  void rayleigh_ritz() {
    const Small z = ritz_vectors_.block(0, active_, 0, active_);
    const auto row = row_.block(0, 1, 0, active_);
    orth::dense::eigendecomposition(h_.block(0, active_, 0, active_), row, z);
    values_.assign(row.data(), row.data() + active_);
    const Small rest = room_.block(0, next_, 0, active_);
    orth::dense::multiply(Scalar(1), coupling(), true, z.block(active_ - coupled_, active_, 0, active_), false,
                          Scalar(0), rest);
    orth::dense::column_squares(rest, row);
    residuals_.assign(row.data(), row.data() + active_);
    for (Real& residual : residuals_) residual = std::sqrt(residual);
  }

  /// The first `kept` Ritz vectors become the active columns. Returns them in terms of the old ones, until the next
  /// call. After rayleigh_ritz().
  Small restart(std::int64_t kept) {
    const Small z = ritz_vectors_.block(0, active_, 0, kept);
    orth::dense::multiply(Scalar(1), z.block(active_ - coupled_, active_, 0, kept), true, coupling(), false, Scalar(0),
                          new_coupling_.block(0, kept, 0, next_));
    std::swap(coupling_, new_coupling_);
    values_.resize(static_cast<std::size_t>(kept));
    residuals_.resize(static_cast<std::size_t>(kept));
    keep_ritz_values(kept);
    return z;
  }

  /// The first `count` active columns are no longer among them. Right after restart().
  void remove(std::int64_t count) {
    const std::int64_t left = active_ - count;
    orth::dense::copy(coupling_.block(count, active_, 0, next_), new_coupling_.block(0, left, 0, next_));
    std::swap(coupling_, new_coupling_);
    values_.erase(values_.begin(), values_.begin() + count);
    residuals_.erase(residuals_.begin(), residuals_.begin() + count);
    keep_ritz_values(left);
  }

 private:
  /// All active columns are Ritz vectors: H is diagonal, and the next block is coupled to each of them.
  void keep_ritz_values(std::int64_t active) {
    active_ = coupled_ = active;
    const Small h = h_.block(0, active_, 0, active_);
    orth::dense::fill(h, Scalar(0));
    for (std::size_t i = 0; i < values_.size(); ++i) h.view()(i, i) = Scalar(values_[i]);
  }

  std::int64_t active_ = 0;
  std::int64_t next_ = 0;
  std::int64_t coupled_ = 0;
  Small h_, ritz_vectors_, room_;  // H's upper triangle; its eigenvectors
  Small coupling_, new_coupling_, identity_;
  SmallMatrix<Real> row_;
  std::vector<Real> values_;
  std::vector<Real> residuals_;
};

}  // namespace blockvec::solvers
