#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"

/// What calls choose on devices that are not there: none waits for products in double precision where memory would do.
namespace blockvec::kernels::dispatch {
namespace {

CudaDevice device_of(const char* name, int capability, bool bulk_copies, int multiprocessors, int shared_kilobytes,
                     int megahertz, double bandwidth) {
  CudaDevice device{multiprocessors, (shared_kilobytes - 1) * 1024, bulk_copies, name, capability};
  set_rates(device, {1000 * megahertz, static_cast<int>(bandwidth / 2e3 / 512 * 8), 512});
  return device;
}

// 12.0 runs code of 8.0: it has no bulk copies there. Nothing but 9.0 has products by warpgroups.
const std::vector<CudaDevice>& devices() {
  static const std::vector<CudaDevice> all{
      device_of("A100", 80, false, 108, 164, 1410, 2.0e12), device_of("RTX 4090", 89, false, 128, 100, 2520, 1.0e12),
      device_of("B200", 100, true, 148, 228, 1900, 8.0e12), device_of("RTX 5090", 120, false, 170, 100, 2400, 1.79e12)};
  return all;
}

struct Type {
  char letter;
  int real_bytes, parts;
};
constexpr Type types[] = {{'S', 4, 1}, {'C', 4, 2}, {'D', 8, 1}, {'Z', 8, 2}};

struct Sides {
  std::int64_t m, n;  // columns of scalars
};
std::vector<Sides> all_sides() {
  std::vector<Sides> sides;
  for (std::int64_t width = 1; width <= 64; ++width) {
    for (const std::int64_t n : {width, std::int64_t{1}, std::int64_t{8}, std::int64_t{64}})
      sides.push_back({width, n});
  }
  return sides;
}

// How operands lie in memory. Numbers from line to line beyond a tight one; entries begin at multiples of 16 bytes, or
// not.
struct Place {
  const char* name;
  bool row_major;
  std::int64_t gap;
  bool aligned;
};
constexpr Place places[] = {{"rows", true, 0, true},
                            {"views", true, 64, true},
                            {"misaligned views", true, 65, false},
                            {"columns", false, 0, true},
                            {"misaligned columns", false, 3, false}};

constexpr std::int64_t rows = 4000000;

// How many times as long as memory a call may take that products in double precision limit, where products of the
// fastest kind would not. Where nothing is said, there must be no such call.
struct Limit {
  const char* device;
  char type;
  double times;
};
// On A100 and B200, double precision is half as fast as on an H200. Where memory waits for it, the kernels of single
// precision would take even longer: they load misaligned operands number by number, or hold too little in shared
// memory. Double precision has no other kernels; MMA tiles of 16 x 8 waste much of it where widths are just beyond a
// multiple. The longest of these calls are in place on A100: views of 49 floats, which no kernel by 3xTF32 takes
// without bulk copies, and rows of 45 complex columns, of which shared memory holds too few. On B200 they are A^H B of
// 33 and 64 columns, which `direct` would load several times.
constexpr Limit limits[] = {{"A100", 'S', 3.6}, {"A100", 'C', 4.6}, {"A100", 'D', 1.2}, {"A100", 'Z', 2.0},
                            {"B200", 'S', 4.6}, {"B200", 'C', 4.5}, {"B200", 'D', 2.5}, {"B200", 'Z', 2.6}};

double limit_of(const CudaDevice& device, char type) {
  for (const Limit& limit : limits) {
    if (limit.device == device.name && limit.type == type) return limit.times;
  }
  return 0;
}

struct Product {
  const CudaDevice& device;
  Type type;
  std::string name;
  std::int64_t m, n;
  double bytes;
};

std::string text(const Product& x) {
  return x.device.name + ' ' + x.type.letter + ' ' + x.name + ' ' + std::to_string(x.m / x.type.parts) + 'x' +
         std::to_string(x.n / x.type.parts);
}

bool is_double(CudaProducts products) {
  return products == CudaProducts::f64_fma || products == CudaProducts::f64_tensor;
}

// Seconds if all multiprocessors make products of the fastest kind that the type allows.
double product_seconds(const Product& x) {
  double clocks = x.device.product_clocks[0];
  for (std::size_t kind = 0; kind < x.device.product_clocks.size(); ++kind) {
    if (is_double(static_cast<CudaProducts>(kind)) || x.type.real_bytes == 4) {
      clocks = std::min(clocks, x.device.product_clocks[kind]);
    }
  }
  return static_cast<double>(rows * x.m * x.n) / 2048 * clocks / (x.device.multiprocessors * x.device.clock);
}

template <class Problem, class Configuration>
void expect_legal(const Product& x, const Problem& p, const CudaChoice<Configuration>& choice) {
  const Configuration& c = choice.configuration;
  if constexpr (std::is_same_v<Configuration, CudaTsmm>) {
    EXPECT_GE(c->blocks, 1) << text(x);
  } else {
    EXPECT_GE(c->partials, 1) << text(x);
  }
  EXPECT_LE(c->shared_bytes, x.device.shared_bytes) << text(x);
  EXPECT_TRUE(is_compiled(p, c)) << text(x) << ": " << name_of(c->kernel);
  if constexpr (std::is_same_v<Configuration, CudaTsmm>) {
    const std::size_t slab = static_cast<std::size_t>(c.part_rows * p.n * p.real_bytes);
    const std::size_t workspace = cuda_tsmm_workspace(x.device, p.k, p.m, p.n, p.real_bytes);
    EXPECT_LE(slab + static_cast<std::size_t>(c.in_parts() ? p.m * p.n * p.real_bytes : 0), workspace) << text(x);
    EXPECT_LE(c->workspace_bytes, workspace) << text(x);
  }
}

template <class Problem, class Configuration>
void check(const Product& x, const Problem& p, const CudaChoice<Configuration>& choice) {
  expect_legal(x, p, choice);
  const bool has_little = product_clocks_of(x.device.capability)[0] > 1000;
  if (has_little && x.type.real_bytes == 8) return;  // memory waits for nearly all products of double precision
  const CudaPrediction& found = choice.prediction;
  const bool busy = found.bound == CudaBound::tensor_cores || found.bound == CudaBound::arithmetic;
  const double memory = x.bytes * static_cast<double>(rows * x.type.real_bytes) / x.device.read_bandwidth;
  // Half of the time must remain for all else where single precision is no way out.
  const double products = product_seconds(x) * (x.type.real_bytes == 8 ? 2 : 1);
  const std::string kernel = name_of(choice.configuration->kernel);
  if (!busy || !is_double(found.products) || products >= memory) return;
  const double limit = limit_of(x.device, x.type.letter);
  EXPECT_LE(found.seconds, limit * memory) << text(x) << ": " << kernel;
}

// All products of the matrices of one kind, of 1 to 64 columns.
template <class Visit>
void for_each_product(const CudaDevice& device, Visit&& visit) {
  for (const Type& type : types) {
    for (const Place& place : places) {
      for (const Sides& s : all_sides()) {
        const std::int64_t m = type.parts * s.m;
        const std::int64_t n = type.parts * s.n;
        if (!place.row_major && s.m == 1 && s.n == 1) continue;  // calls take single columns as rows
        const auto pitch = [&](std::int64_t width) {
          return place.row_major ? width + type.parts * place.gap : type.parts * (rows + place.gap);
        };
        const auto product = [&](const char* name, std::int64_t numbers) {
          return Product{device, type, std::string(place.name) + ' ' + name, m, n, static_cast<double>(numbers)};
        };
        const CudaTsmttsmProblem sums{
            rows, m, n, pitch(m), pitch(n), type.real_bytes, place.row_major, false, type.parts, place.aligned};
        visit(product("tsmttsm", m + n), sums);
        CudaTsmttsmProblem gram = sums;
        gram.same = true;
        if (m == n) visit(product("gram", m), gram);
        const CudaTsmmProblem maps{rows,  m,     n,          pitch(m),      pitch(n), type.real_bytes, place.row_major,
                                   false, false, type.parts, place.aligned, false,    place.aligned};
        visit(product("tsmm", m + n), maps);
        CudaTsmmProblem update = maps;
        update.reads_output = true;
        visit(product("update", m + 2 * n), update);
        CudaTsmmProblem in_place = maps;
        in_place.in_place = true;
        in_place.pitch_b = in_place.pitch_a;
        if (n <= m) visit(product("in place", m + n), in_place);
      }
    }
  }
}

TEST(CudaPortable, MemoryDoesNotWaitForDoublePrecision) {
  for (const CudaDevice& device : devices()) {
    for_each_product(device, [&](const Product& x, const auto& p) { check(x, p, choose(device, p)); });
  }
}

TEST(CudaPortable, CapabilityNineHasOtherKernelsOfSinglePrecision) {
  CudaDevice h100 = device_of("H100", 90, true, 132, 228, 1980, 3.35e12);
  h100.warpgroups = true;
  EXPECT_EQ(h100.product_clocks, h200_product_clocks);
  for_each_product(h100, [&](const Product& x, const auto& p) {
    const auto choice = choose(h100, p);
    const std::string kernel = name_of(choice.configuration->kernel);
    EXPECT_TRUE(kernel != "direct" || choice.configuration->policy == Policy::usual) << text(x);
  });
}

// A caller may ask for double precision all the same.
TEST(CudaPortable, PlainProductsStayPlain) {
  for (const CudaDevice& device : devices()) {
    for_each_product(device, [&](const Product& x, auto p) {
      p.may_split = false;
      const auto choice = choose(device, p);
      EXPECT_TRUE(is_double(choice.prediction.products)) << text(x) << ": " << name_of(choice.configuration->kernel);
    });
  }
}

TEST(CudaPortable, NewerDevicesAreLikeTheLastKnownOne) {
  EXPECT_EQ(product_clocks_of(121), product_clocks_of(120));
  EXPECT_EQ(product_clocks_of(88), product_clocks_of(87));
  EXPECT_EQ(product_clocks_of(90), h200_product_clocks);
}

}  // namespace
}  // namespace blockvec::kernels::dispatch
