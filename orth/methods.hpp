#pragma once

#include <blockvec/orth/orthogonalizer.hpp>

/// What methods consist of.
namespace blockvec::orth {

/// What the methods within a block begin with.
inline bool begins_with_wide_gram(Within within) {
  return within == Within::dd_cholqr || within == Within::dd_cholqr2 || within == Within::pivoted_cholqr;
}
inline bool is_randomised(Within within) {
  return within == Within::rand_cholqr || within == Within::rand_cholqr_gauss;
}
inline bool begins_with_gram(Within within) {
  return within == Within::cholqr || within == Within::cholqr2 || within == Within::svqb ||
         within == Within::shifted_cholqr3;
}
inline bool is_by_columns(Within within) { return within == Within::cgs || within == Within::cgs2; }
/// What depends on how the rows are spread over ranks gives way.
inline Within within_on_any_ranks(Within within) {
  return within == Within::tsqr          ? Within::dd_cholqr2
         : within == Within::rand_cholqr ? Within::rand_cholqr_gauss
                                         : within;
}
inline Within within_under_metric(Within within) {
  if (within == Within::dd_cholqr) return Within::cholqr;
  return begins_with_wide_gram(within) || is_randomised(within) || within == Within::tsqr ? Within::cholqr2 : within;
}

/// How many sweeps of CholQR (or SVQB) at most follow the first one within a block.
inline int sweeps_after_first(Within within) {
  switch (within) {
    case Within::cgs:
    case Within::cgs2:
    case Within::cholqr:
    case Within::dd_cholqr:
    case Within::tsqr:
      return 0;
    case Within::cholqr2:
    case Within::dd_cholqr2:
    case Within::rand_cholqr:
    case Within::rand_cholqr_gauss:
    case Within::pivoted_cholqr:
      return 1;
    case Within::shifted_cholqr3:
      return 2;
    case Within::svqb:
      return 5;
  }
  return 0;
}

/// A sweep over a block beside its basis: projected, then normalised by the method within; the same block by block of
/// the basis; both at once by Pythagoras; the same with small matrices in double-double.
enum class Kind { none, projected, by_blocks, pythagorean, extended };

/// The sweeps of which a method for one block consists.
struct Plan {
  Kind first = Kind::pythagorean;
  Kind second = Kind::none;
};
inline Plan plan_of(Between between) {
  switch (between) {
    case Between::bcgs:
      return {Kind::projected, Kind::none};
    case Between::bmgs:
      return {Kind::by_blocks, Kind::none};
    case Between::bcgs2:
    case Between::bcgsi_a:
      return {Kind::projected, Kind::projected};
    case Between::pip:
      return {Kind::pythagorean, Kind::none};
    case Between::pip_dd:
      return {Kind::extended, Kind::pythagorean};
    case Between::p_2s:
      return {Kind::projected, Kind::pythagorean};
    case Between::pip_plus:
    case Between::pipi_plus:
    case Between::p_1s:
    case Between::p_adaptive:
    case Between::two_stage:
      return {Kind::pythagorean, Kind::pythagorean};
  }
  return {};
}

}  // namespace blockvec::orth
