#pragma once

#include "src/cuda/tsmm/column_ring.cuh"
#include "src/cuda/tsmm/factor.cuh"

/// Products of tsmm/column_ring.cuh on tensor cores in double precision. Consumer warp groups take the chunks in turn.
/// In a group, warps stand `row_warps` deep along the rows and `column_warps` wide along B's columns. Each warp holds
/// `tb` x `tn` MMA tiles (pieces) of 16 rows x 8 columns. Eight lanes read neighbouring rows of a column in a stage.
/// Four such sets of lanes read different columns, chosen so that no bank is wanted twice (column_of_slot). C's rows
/// and columns lie in that order.
namespace blockvec::kernels::cuda {

/// Returns the column of slot s of lane q. A lane has 2^k neighbouring columns, so that lanes meet different banks.
__device__ inline int column_of_slot(int k, int q, int s) {
  return (s >> k << (k + 2)) + (q << k) + (s & ((1 << k) - 1));
}

/// Slots of a lane in 16 real columns. A slot is a real number, or a whole complex one.
template <int parts>
inline constexpr int slots_of_step = 4 / parts;

/// Returns the column of B, in scalars, for slot s of lane q. An MMA tile of 8 real columns has 2 / `parts` slots a
/// lane. Slots that do not fill 2^k neighbours any more keep the order of MMA tiles.
template <int parts, int tn>
__device__ inline int result_column(int k, int q, int s) {
  constexpr int of_piece = 2 / parts;
  const bool fits = s < (tn * of_piece >> k << k);
  return column_of_slot(fits ? k : of_piece - 1, q, s);
}

/// A lane's numbers of a step, which is 16 real columns of a stage.
template <int parts, int tb>
struct ColumnStep {
  static constexpr int slots = slots_of_step<parts>;
  using Scalar = Neighbouring<parts, double>;
  Scalar number[tb][2][slots];

  template <bool guarded>
  __device__ void read(const double* a, const int (&offset)[slots], const int (&column)[slots], int columns) {
    unrolled<slots, tb, 2>([&](int s, int t, int half) {
      // What follows A is not A's. We must not multiply with it, not even by zero.
      if (guarded && column[s] >= columns) {
        number[t][half][s] = Scalar{};
      } else {
        number[t][half][s] = *reinterpret_cast<const Scalar*>(a + offset[s] + (16 * t + 8 * half) * parts);
      }
    });
  }
  __device__ double at(int t, int v) const { return number[t][v % 2][v / 2 / parts].number[v / 2 % parts]; }
};

/// Adds A C to sum for `columns` columns of A. `a` points to this lane's rows of the first column, `c` to its entries
/// of C.
template <int parts, int tb, int tn>
__device__ inline void multiply_columns(double (&sum)[tb][tn][4], const double* a, int pitch, const double* c,
                                        int pieces, int columns, int neighbours, int q) {
  using Step = ColumnStep<parts, tb>;
  constexpr bool ahead = tb * tn <= 8;
  int column[Step::slots], offset[Step::slots];
  unrolled<Step::slots>([&](int s) {
    column[s] = column_of_slot(neighbours, q, s);
    offset[s] = column[s] * pitch;
  });
  constexpr int width = 4 * Step::slots;
  Step now, next;
  const auto load = [&](Step& step, int left) {
    if (left >= width) {
      step.template read<false>(a, offset, column, left);
    } else {
      step.template read<true>(a, offset, column, left);
    }
    a += width * pitch;
  };
  if (ahead) load(now, columns);
#pragma unroll 1
  for (int left = columns; left > 0; left -= width, c += 2 * 64 * pieces) {
    if (!ahead) load(now, left);
    if (ahead && left > width) load(next, left - width);
    double factors[tb][8];
    unrolled<tb, 8>([&](int t, int v) { factors[t][v] = now.at(t, v); });
    multiply_step(sum, factors, c, pieces);
    if (ahead) now = next;
  }
}

/// A lane writes its results to B's chunk in a stage, plus beta times what is there if it `adds`. `out` points to the
/// lane's rows of its warp's first column.
template <int parts, bool adds, int tb, int tn>
__device__ inline void put_columns(const double (&sum)[tb][tn][4], double* out, int pitch, int columns, int neighbours,
                                   int q, Factor beta) {
  constexpr int of_piece = 2 / parts;
  unrolled<tn, of_piece>([&](int x, int i) {
    const int column = result_column<parts, tn>(neighbours, q, of_piece * x + i);
    if (column >= columns) return;
    double* const to = out + column * pitch;
    unrolled<tb, 2>([&](int t, int half) {
      using Scalar = typename ColumnStep<parts, 1>::Scalar;
      Scalar& place = *reinterpret_cast<Scalar*>(to + (16 * t + 8 * half) * parts);
      double value[2] = {sum[t][x][2 * half + i], sum[t][x][2 * half + parts - 1]};
      if constexpr (adds) {
        const Scalar was = place;
        add_old<parts>(value[0], value[1], was.number[0], was.number[parts - 1], beta);
      }
      Scalar result;
      result.number[0] = value[0];
      if constexpr (parts == 2) result.number[1] = value[1];
      place = result;
    });
  });
}

template <int parts, int tb, int tn>
struct ColumnF64 {
  using Real = double;
  static constexpr int warps = computing_warps;
  static constexpr int given_registers = 88, taken_registers = 208;

  __device__ static int warps_of_chunk(const TsmmColumns<Real>& p) { return p.row_warps * p.column_warps; }
  __device__ static int marks(const TsmmColumns<Real>& p) { return p.groups; }

  /// Packs C in the tensor cores' order, [8 rows][8 real columns][lane][2]: a lane reads 16 bytes at a time.
  __device__ static void pack(const TsmmColumns<Real>& p, double* packed, int thread) {
    constexpr int slots = slots_of_step<parts>;
    const Factor alpha = p.alpha.read();
    const int pieces = p.column_warps * tn;
    const int steps = (p.m * parts + 15) / 16;
    const int count = steps * 2 * pieces * 64;
    for (int i = thread; i < count; i += warps * warp_size) {
      const int lane = i / 2 % warp_size;
      const int piece = i / 64 % pieces;
      const int half = i / 64 / pieces % 2;
      const int step = i / 128 / pieces;
      const int v = 2 * half + i % 2;
      const int row = column_of_slot(p.neighbours_a, lane % 4, step * slots + v / parts) * parts + v % parts;
      const int place = lane / 4;  // in an MMA tile, lane place / 2 has two real columns
      const int slot = parts == 2 ? piece % tn : 2 * (piece % tn) + place % 2;
      const int of_warp = result_column<parts, tn>(p.neighbours_b, place / 2, slot);
      const int column = piece / tn * 8 * tn + of_warp * parts + (parts == 2 ? place % 2 : 0);
      packed[i] = row < p.m * parts && column < p.n * parts ? p.small.scaled(row, column, alpha) : 0.0;
    }
  }

  __device__ static void multiply(const TsmmColumns<Real>& p, ColumnStages& shared, unsigned char* memory,
                                  const double* packed, int warp) {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int group_warps = warps_of_chunk(p);
    const int group = warp / group_warps;
    if (group >= p.groups) return;
    const int in_group = warp % group_warps;
    const int column0 = in_group / p.row_warps * 8 * tn;
    const int row0 = in_group % p.row_warps * 16 * tb + lane / 4;
    const int q = lane % 4;
    const int pieces = p.column_warps * tn;
    const int first_b = p.b.shift + column0 / parts * p.b.pitch + row0 * parts;
    const bool reads_a = !p.alpha.read().is_zero();
    const Factor beta = p.beta.read();
    const bool adds = p.loads_b && !beta.is_zero();

    for (RingPosition at{group, 0};; at.advance(p.groups, p.stages)) {
      shared.full[at.stage].wait(at.parity);
      if (shared.chunk_of[at.stage] == no_chunk) break;
      double sum[tb][tn][4];
      unrolled<tb * tn * 4>([&](int i) { sum[i / (4 * tn)][i / 4 % tn][i % 4] = 0; });
      if (reads_a) {
        const Real* const a =
            reinterpret_cast<const Real*>(memory + at.stage * p.stage_bytes) + p.a.shift + row0 * parts;
        const double* const c = packed + column0 * 8 + 2 * lane;
        multiply_columns<parts>(sum, a, p.a.pitch, c, pieces, p.m, p.neighbours_a, q);
      }
      __syncwarp();  // all lanes have read their rows
      if (p.meets) meet(3 + group, group_warps * warp_size);
      Real* const out = reinterpret_cast<Real*>(memory + at.stage * p.stage_bytes + p.offset_b) + first_b;
      const int columns = p.n - column0 / parts;
      if (adds) {
        put_columns<parts, true>(sum, out, p.b.pitch, columns, p.neighbours_b, q, beta);
      } else {
        put_columns<parts, false>(sum, out, p.b.pitch, columns, p.neighbours_b, q, beta);
      }
      publish_to_bulk_copies();
      shared.done[at.stage].arrive();
    }
  }
};

}  // namespace blockvec::kernels::cuda
