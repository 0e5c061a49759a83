#pragma once

#include "src/cuda/tsmm/column_ring.cuh"
#include "src/cuda/unrolled.cuh"

/// Products of tsmm/column_ring.cuh for narrow operands, without tensor cores. A thread computes whole rows: it reads
/// all of a row before it writes results in its place. So no thread waits for another within a chunk.
namespace blockvec::kernels::cuda {

/// `columns`: the most columns of B, even. A thread has `rows` rows at a time. Shared memory has C, row by row.
template <class Number, int parts, int columns, int rows>
struct ColumnFma {
  using Real = Number;
  static constexpr int warps = computing_warps;
  static constexpr int given_registers = 0, taken_registers = 0;
  static constexpr int row_numbers = columns * parts;

  __device__ static int warps_of_chunk(const TsmmColumns<Real>&) { return warps; }
  __device__ static int marks(const TsmmColumns<Real>&) { return 1; }

  __device__ static void pack(const TsmmColumns<Real>& p, Real* packed, int thread) {
    const Factor alpha = p.alpha.read();
    for (int i = thread; i < p.m * row_numbers; i += warps * warp_size) {
      const int row = i / row_numbers;
      const int column = i % row_numbers;
      packed[i] = column < p.n * parts ? static_cast<Real>(p.small.scaled(row * parts, column, alpha)) : Real(0);
    }
  }

  __device__ static void multiply(const TsmmColumns<Real>& p, ColumnStages& shared, unsigned char* memory,
                                  const Real* packed, int warp) {
    constexpr int unit = bulk_unit<Real>;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int m = p.alpha.read().is_zero() ? 0 : p.m;
    const Factor beta = p.beta.read();
    const bool adds = p.loads_b && !beta.is_zero();
    using Scalar = Neighbouring<parts, Real>;

    for (RingPosition at{0, 0};; at.advance(1, p.stages)) {
      shared.full[at.stage].wait(at.parity);
      const std::uint32_t chunk = shared.chunk_of[at.stage];
      if (chunk == no_chunk) break;
      Real* const stage = reinterpret_cast<Real*>(memory + at.stage * p.stage_bytes);
      for (int first = warp * warp_size * rows; first * parts < p.held(); first += warps * warp_size * rows) {
        const int place = (first + lane) * parts;
        Real sum[rows][columns][parts] = {};
        const Real* a = stage + p.a.shift + place;
#pragma unroll 4
        for (int k = 0; k < m; ++k, a += p.a.pitch) {
          Scalar x[rows];
          unrolled<rows>([&](int r) { x[r] = *reinterpret_cast<const Scalar*>(a + r * warp_size * parts); });
          using Entries = Neighbouring<unit, Real>;
          Entries c[row_numbers / unit];
          unrolled<row_numbers / unit>(
              [&](int i) { c[i] = reinterpret_cast<const Entries*>(packed + k * row_numbers)[i]; });
          const auto right = [&](int i) { return c[i / unit].number[i % unit]; };
          unrolled<columns, rows>([&](int j, int r) {
            unrolled<parts>(
                [&](int part) { sum[r][j][part] = fma(x[r].number[0], right(parts * j + part), sum[r][j][part]); });
            if constexpr (parts == 2) {
              sum[r][j][0] = fma(-x[r].number[1], right(2 * j + 1), sum[r][j][0]);
              sum[r][j][1] = fma(x[r].number[1], right(2 * j), sum[r][j][1]);
            }
          });
        }
        Real* const out = stage + p.offset_b / static_cast<int>(sizeof(Real)) + p.b.shift + place;
        const auto entry = [&](int j, int r) -> Scalar& {
          return *reinterpret_cast<Scalar*>(out + j * p.b.pitch + r * warp_size * parts);
        };
        if (adds) {
#pragma unroll
          for (int j = 0; j < columns; ++j) {
            if (j >= p.n) break;
            unrolled<rows>([&](int r) {
              const Scalar& to = entry(j, r);
              add_old<parts>(sum[r][j][0], sum[r][j][parts - 1], to.number[0], to.number[parts - 1], beta);
            });
          }
        }
        Real zero[rows] = {};  // stays zero as long as all results are finite
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          if (j >= p.n) break;
          unrolled<rows>([&](int r) {
            Scalar result;
            unrolled<parts>([&](int part) {
              result.number[part] = sum[r][j][part];
              if constexpr (sizeof(Real) == 4) zero[r] = fma(result.number[part], Real(0), zero[r]);
            });
            entry(j, r) = result;
          });
        }
        if constexpr (sizeof(Real) == 4) {
          bool finite = true;
          unrolled<rows>([&](int r) { finite = finite && zero[r] == 0; });
          if (!finite) [[unlikely]] {
            unrolled<rows>([&](int r) {
              if (zero[r] == 0) return;
              const int row = place + r * warp_size * parts;
#pragma unroll 1
              for (int j = 0; j < p.n * parts; ++j) {
                out[j / parts * p.b.pitch + j % parts + row - place] =
                    number_in_double<parts>(p, p.first(chunk) + row, j);
              }
            });
          }
        }
      }
      publish_to_bulk_copies();
      shared.done[at.stage].arrive();
    }
  }
};

}  // namespace blockvec::kernels::cuda
