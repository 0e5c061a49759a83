#pragma once

#include "orth/skeletons/factorization.hpp"

/// PIP once for each block, and once more later: PIP+ and the two-stage scheme. PIP once loses kappa^2 eps of
/// orthogonality, so that what it leaves is well-conditioned, and PIP once more brings that to eps.
namespace blockvec::orth {

template <class Scalar, class Layout, class Space>
class Staged {
 public:
  explicit Staged(Factorization<Scalar, Layout, Space>& f) : f_(f), second_(f.options) {
    second_.between = Between::pip;
    second_.within = Within::cholqr2;  // what is well-conditioned needs no eigenvectors
    const std::int64_t panel = f.options.panel_width > 0 ? f.options.panel_width : 8 * f.width;
    two_stage_ = f.options.between == Between::two_stage;
    panel_ = two_stage_ ? panel : f.n;
  }

  void run() {
    for (std::int64_t begin = 0; begin < f_.n; begin += f_.width) {
      const std::int64_t end = std::min(f_.n, begin + f_.width);
      if (begin == 0) {
        if (!f_.settle(0, end, end, f_.options)) return f_.leave_from(end);
        final_ = end;
      } else if (!first_stage(begin, end)) {
        return;
      }
      if (end - final_ >= panel_ || end == f_.n) second_stage(end);
    }
  }

 private:
  /// PIP, once. Where that breaks, the blocks before are finished, and this one is by the strong method. False: it may
  /// not.
  bool first_stage(std::int64_t begin, std::int64_t end) {
    {
      const auto beside = f_.before(begin);
      const auto w = f_.x.columns(begin, end);
      Call<Scalar, Layout, Space> call(f_.context, f_.options, f_.draws, beside, w, f_.metric_for(begin, end));
      call.block.set_whole(f_.x, begin);
      call.findings.begin(call.block.method(true, true), call.block.options);
      look_at_block(call);
      const auto sweep = pip_sweep(call, Another::none);
      undo_scales(call);
      f_.compose(begin, end, end, call.coefficients.s, call.coefficients.r);
      f_.absorb_part(call);
      if (sweep.done) {
        if (f_.options.adaptive && sweep.certified() && final_ == begin) final_ = end;
        return true;
      }
      if (!f_.options.escalate) {
        f_.stop(call, begin);
        return false;
      }
    }
    second_stage(begin);
    f_.settle(begin, end, end, f_.options);
    final_ = end;
    return true;
  }

  /// PIP once more for what has been through it once, up to `stop`.
  void second_stage(std::int64_t stop) {
    const std::int64_t step = two_stage_ ? stop - final_ : f_.width;
    for (; final_ < stop; final_ = std::min(stop, final_ + step)) {
      f_.settle(final_, std::min(stop, final_ + step), stop, second_);
    }
  }

  Factorization<Scalar, Layout, Space>& f_;
  Options second_;
  bool two_stage_ = false;
  std::int64_t panel_ = 0;
  std::int64_t final_ = 0;  // columns that are done
};

}  // namespace blockvec::orth
