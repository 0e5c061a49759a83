// Both products on a CUDA device against its memory and against cuBLAS, on the same operands in one run.
//   cuda_vs_cublas out=DIRECTORY plans=square,short,gram,rectangle,... seconds=480 commit=...
// A plan is one of cuda_plans.hpp; or such a one with operands of 64 MiB, e.g. square@64MiB; or one of
//   short      4 and 16 columns at K = 1e3 to 1e6, in CUDA graphs
//   pieces     what plain kernels reach with the views of the plans `odd`, `views` and `types`: for tsmttsm, reads of
//              the 64-byte pieces that odd ones and those of other types touch; for tsmm in double, a copy of entries
//   sustained  10 s of unbroken load each, at the widths of widths=8;...;64; at 64, then 5 s of the same bytes and
//              products by a plain kernel (bare_gbps, of its last second)
// products=tsmttsm,gram types=D,Z: only these of a plan's rows.
// Beside each row, standard output says which kernel served it and why: a row of the table of measured configurations
// (file:line) or the model, and what the model expects.
// Each kind writes a file of its own to DIRECTORY: cuda_vs_cublas.csv, ..._widths.csv, ..._odd.csv and ..._types.csv
// (the plans of these names), ..._64MiB.csv, ..._short.csv, ..._pieces.csv, ..._sustained.csv.
// Rows that are there already are not measured again; what does not fit into `seconds` is left to the next run.
// Exit status 1 if any product of the plans is slower than cuBLAS, 2 for an error.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include "bench/cuda_plans.hpp"
#include "bench/cuda_report.hpp"
#include "bench/cuda_versus.hpp"

namespace {

using namespace bench;

using Settings = std::map<std::string, std::string>;

const Settings defaults{{"out", "."},           {"plans", "square"},   {"bytes", "4294967296"},
                        {"reps", "9"},          {"pause", "150"},      {"cublas", "1"},
                        {"seconds", "1e9"},     {"commit", "unknown"}, {"widths", "1;8;16;24;32;40;48;56;64"},
                        {"load_seconds", "10"}, {"products", ""},      {"types", ""}};

/// A row's key: the same case is not measured twice.
std::string key_of(const Case& c, std::int64_t k) {
  return c.product + ',' + c.type + ',' + c.layout() + ',' + std::to_string(c.m) + ',' + std::to_string(c.n) + ',' +
         std::to_string(c.leading_dimension(k)) + ',' + std::to_string(k);
}

/// Plans of many rows, which a second card may measure at the same time.
bool own_file(const std::string& plan) { return plan == "widths" || plan == "odd" || plan == "types"; }

class Program {
 public:
  explicit Program(const Settings& settings)
      : settings_(settings),
        versus_({std::stoull(settings.at("bytes")), std::stoi(settings.at("reps")), std::stoi(settings.at("pause")),
                 settings.at("cublas") == "1"}),
        end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(
                                                    1000 * std::min(1e6, std::stod(settings.at("seconds")))))) {}

  int run() {
    for (const std::string& name : split(settings_.at("plans"), ',')) {
      const std::size_t at = name.find('@');
      if (name == "short") {
        short_ones();
      } else if (name == "pieces") {
        pieces();
      } else if (name == "sustained") {
        sustained();
      } else if (at == std::string::npos) {
        table(plan(name), versus_.bytes(), own_file(name) ? '_' + name : "");
      } else {
        const std::string size = name.substr(at + 1);
        if (size != "64MiB") throw std::runtime_error("operands of 64MiB or of their usual size, not of " + size);
        table(plan(name.substr(0, at)), std::size_t{64} << 20, "_" + size);
      }
    }
    std::printf("%d rows, %d of them behind cuBLAS, %d left out for want of time\n", rows_, behind_, left_out_);
    return behind_ == 0 ? 0 : 1;
  }

 private:
  bool wanted(const char* setting, const std::string& word) const {
    const auto words = split(settings_.at(setting), ',');
    return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
  }

  bool wanted(const Case& c) const { return wanted("products", c.product) && wanted("types", std::string(1, c.type)); }

  bool late() {
    const bool late = std::chrono::steady_clock::now() >= end_;
    if (late) ++left_out_;
    return late;
  }

  Report open(const std::string& suffix, std::size_t bytes, const std::string& columns) {
    return {settings_.at("out") + "/cuda_vs_cublas" + suffix + ".csv", columns,
            [&] { return versus_.header(settings_.at("commit"), bytes); }};
  }

  void table(const std::vector<Case>& cases, std::size_t bytes, const std::string& suffix) {
    Report report = open(suffix, bytes,
                         "product,type,layout,m,n,lda,k,gbps,roof_gbps,share,cublas_gbps,ratio,kernel,configuration");
    for (const Case& c : cases) {
      const std::string key = key_of(c, versus_.rows_of(c, bytes));
      if (!wanted(c)) continue;
      if (counted(report, key) || late()) continue;
      const Measured x = versus_.measure(c, bytes);
      report.add(key, "%.0f,%.0f,%.4f,%.0f,%.3f,%s,%s", x.gbps, x.roof, x.gbps / x.roof, x.cublas, x.ratio,
                 x.kernel.c_str(), x.configuration.c_str());
      std::puts(x.why.c_str());
      count(x.cublas > 0 && x.ratio < 1);
    }
  }

  void short_ones() {
    Report report = open("_short", versus_.bytes(),
                         "product,type,m,n,k,us,warm_us,cublas_us,cublas_warm_us,ratio,kernel,configuration");
    for (const std::int64_t width : {4, 16}) {
      for (const std::int64_t k : {1000, 10000, 100000, 1000000}) {
        const std::string shape = std::to_string(width);
        const std::string key = "tsmttsm,D," + shape + ',' + shape + ',' + std::to_string(k);
        if (counted(report, key) || late()) continue;
        const MeasuredShort x = versus_.measure_short(width, k);
        report.add(key, "%.2f,%.2f,%.2f,%.2f,%.3f,%s,%s", x.us, x.warm_us, x.cublas_us, x.cublas_warm_us,
                   x.cublas_us / x.us, x.kernel.c_str(), x.configuration.c_str());
        std::puts(x.why.c_str());
        count(x.cublas_us < x.us);
      }
    }
  }

  void pieces() {
    Report report = open("_pieces", versus_.bytes(), "product,type,layout,m,n,lda,k,gbps");
    for (const char* const name : {"odd", "views", "types"}) {
      for (const Case& c : plan(name)) {
        const std::string key = key_of(c, versus_.rows_of(c, versus_.bytes()));
        const bool odd = std::string("views") != name;
        const bool known = c.reduces() ? odd && c.product != "gram" : c.type == 'D' && !c.adds();
        const bool view = c.row_major && c.ld != 0;
        if (!known || !view || !wanted(c) || report.has(key) || late()) continue;
        report.add(key, "%.0f", versus_.measure_pieces(c));
        count(false);
      }
    }
  }

  void sustained() {
    Report report =
        open("_sustained", versus_.bytes(),
             "product,type,layout,m,n,lda,k,seconds,gbps,last_second_gbps,roof_gbps,share,bare_gbps,watts,sm_mhz,"
             "kernel,configuration");
    for (const std::string& width : split(settings_.at("widths"), ';')) {
      for (const char* product : {"tsmttsm", "tsmm"}) {
        const std::int64_t w = std::stoll(width);
        const Case c{product, 'D', true, w, w};
        const std::string key = key_of(c, versus_.rows_of(c, versus_.bytes()));
        if (report.has(key) || late()) continue;
        const MeasuredLoad x = versus_.measure_load(c, std::stod(settings_.at("load_seconds")));
        report.add(key, "%.1f,%.0f,%.0f,%.0f,%.4f,%.0f,%s,%s,%s", x.seconds, x.gbps, x.last_gbps, x.roof,
                   x.gbps / x.roof, x.bare_gbps, x.power_and_clock.c_str(), x.kernel.c_str(), x.configuration.c_str());
        std::puts(x.why.c_str());
        count(false);
      }
    }
  }

  /// Whether an earlier run measured this row; its ratio, the fifth value of either kind of table, counts all the same.
  bool counted(const Report& report, const std::string& key) {
    const std::string values = report.values(key);
    if (values.empty()) return false;
    const double ratio = std::stod(split(values, ',').at(4));
    count(ratio > 0 && ratio < 1);
    return true;
  }

  void count(bool behind) {
    ++rows_;
    if (behind) ++behind_;
  }

  Settings settings_;
  Versus versus_;
  std::chrono::steady_clock::time_point end_;
  int rows_ = 0;
  int behind_ = 0;
  int left_out_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  return Program(bench::read_settings(argc, argv, defaults)).run();
} catch (const std::exception& error) {
  std::fprintf(stderr, "cuda_vs_cublas: %s\n", error.what());
  return 2;
}
