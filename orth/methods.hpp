#pragma once

#include <blockvec/orth/orthogonalizer.hpp>

/// What methods consist of.
namespace blockvec::orth {

/// What the methods within a block begin with.
inline bool begins_with_wide_gram(Intra intra) {
  return intra == Intra::dd_cholqr || intra == Intra::dd_cholqr2 || intra == Intra::pivoted_cholqr;
}
inline bool is_randomised(Intra intra) { return intra == Intra::rand_cholqr || intra == Intra::rand_cholqr_gauss; }
inline bool begins_with_gram(Intra intra) {
  return intra == Intra::cholqr || intra == Intra::cholqr2 || intra == Intra::svqb || intra == Intra::shifted_cholqr3;
}
inline bool is_by_columns(Intra intra) { return intra == Intra::cgs || intra == Intra::cgs2; }
/// What depends on how the rows are spread over ranks gives way.
inline Intra intra_on_any_ranks(Intra intra) {
  return intra == Intra::tsqr ? Intra::dd_cholqr2 : intra == Intra::rand_cholqr ? Intra::rand_cholqr_gauss : intra;
}
inline Intra intra_under_metric(Intra intra) {
  if (intra == Intra::dd_cholqr) return Intra::cholqr;
  return begins_with_wide_gram(intra) || is_randomised(intra) || intra == Intra::tsqr ? Intra::cholqr2 : intra;
}

/// How many sweeps of CholQR (or SVQB) at most follow the first one within a block.
inline int sweeps_after_first(Intra intra) {
  switch (intra) {
    case Intra::cgs:
    case Intra::cgs2:
    case Intra::cholqr:
    case Intra::dd_cholqr:
    case Intra::tsqr:
      return 0;
    case Intra::cholqr2:
    case Intra::dd_cholqr2:
    case Intra::rand_cholqr:
    case Intra::rand_cholqr_gauss:
    case Intra::pivoted_cholqr:
      return 1;
    case Intra::shifted_cholqr3:
      return 2;
    case Intra::svqb:
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
inline Plan plan_of(Inter inter) {
  switch (inter) {
    case Inter::bcgs:
      return {Kind::projected, Kind::none};
    case Inter::bmgs:
      return {Kind::by_blocks, Kind::none};
    case Inter::bcgs2:
    case Inter::bcgsi_a:
      return {Kind::projected, Kind::projected};
    case Inter::pip:
      return {Kind::pythagorean, Kind::none};
    case Inter::pip_dd:
      return {Kind::extended, Kind::pythagorean};
    case Inter::p_2s:
      return {Kind::projected, Kind::pythagorean};
    case Inter::pip_plus:
    case Inter::pipi_plus:
    case Inter::p_1s:
    case Inter::p_adaptive:
    case Inter::two_stage:
      return {Kind::pythagorean, Kind::pythagorean};
  }
  return {};
}

}  // namespace blockvec::orth
