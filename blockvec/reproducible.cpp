#include "blockvec/reproducible.hpp"

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/transfer.hpp>
#include <type_traits>

#include "blockvec/dots.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/exact_sums.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/limbs.hpp"

namespace blockvec {
namespace {

constexpr std::int64_t chunk_rows = 8192;
// On a device chunks are cut further: more teams share the work.
constexpr std::int64_t share_rows = 2048;

std::int64_t chunks_of(std::int64_t rows) { return (rows + chunk_rows - 1) / chunk_rows; }

// Rows of another rank, or for it.
struct Piece {
  int rank;
  std::int64_t begin, end;  // global
  std::int64_t rows() const { return end - begin; }
};

// What this rank has to do with the chunks. Each is multiplied by the rank that holds its first row:
//
//     chunks  |         0         |         1         |         2         |
//     ranks   |     0     | 1 |         2         |           3           |     rank 0 borrows rows of 1 and 2,
//                                                                               1 and 3 have no chunk and one
class Share {
 public:
  Share(const RowDistribution& rows, int rank)
      : rows_(rows), rank_(rank), first_(chunks_of(rows.begin())), last_(chunks_of(rows.end())) {}

  std::int64_t chunks() const { return last_ - first_; }
  std::int64_t chunk_begin(std::int64_t i) const { return (first_ + i) * chunk_rows; }
  std::int64_t chunk_end(std::int64_t i) const { return std::min(chunk_begin(i + 1), rows_.global_rows()); }

  // Rows at the beginning whose chunk is another rank's.
  Piece lent() const {
    const std::int64_t begin = rows_.begin();
    const std::int64_t end = std::min(rows_.end(), first_ * chunk_rows);
    return {begin < end ? rows_.owner(begin / chunk_rows * chunk_rows) : rank_, begin, std::max(begin, end)};
  }

  // Rows of the last chunk that other ranks hold: visit(piece), in their order.
  template <class Visit>
  void for_borrowed(const Visit& visit) const {
    if (chunks() == 0) return;
    const std::int64_t end = chunk_end(chunks() - 1);
    for (int rank = rank_ + 1; rank < rows_.ranks() && rows_.begin(rank) < end; ++rank) {
      const Piece piece{rank, rows_.begin(rank), std::min(end, rows_.begin(rank + 1))};
      if (piece.rows() > 0) visit(piece);
    }
  }

 private:
  const RowDistribution& rows_;
  int rank_;
  std::int64_t first_, last_;  // chunks
};

template <class T>
using Rows = kernels::Matrix<T>;

template <class T>
Rows<T> part_of(Rows<T> a, std::int64_t first, std::int64_t rows) {
  a.data += first * (a.layout == kernels::Layout::row_major ? a.ld : 1);
  a.rows = rows;
  return a;
}

template <class T>
Rows<T> without_gaps(T* data, std::int64_t rows, const Rows<T>& model) {
  const std::int64_t line = model.layout == kernels::Layout::row_major ? model.columns : rows;
  return {data, rows, model.columns, std::max<std::int64_t>(line, 1), model.layout};
}

template <class Scalar, class Space>
class ReproducibleSum {
 public:
  using Kernel = KernelScalar<Scalar>;
  using Real = RealOf<Scalar>;
  using Product = RowProduct<Scalar>;

  ReproducibleSum(const Context& context, const RowDistribution& rows, std::span<const Product> products,
                  std::uint64_t tag)
      : context_(context),
        rows_(rows),
        products_(products),
        tag_(tag),
        share_(rows, context.communicator().rank()),
        there_(context),
        staging_(context),
        scope_(context) {
    for (const Product& product : products) {
      row_words_ += product.v.columns + (product.same() ? 0 : product.w.columns);
      words_ += product.words();
      tag_ = tag_ * 1000003 + static_cast<std::uint64_t>(product.v.columns);
      tag_ = tag_ * 1000003 + static_cast<std::uint64_t>(product.words());
      tag_ = tag_ * 1000003 + static_cast<std::uint64_t>(product.wanted);
    }
  }

  void operator()(Scalar* sums, Scalar* here) {
    for_places([&](const Place& place, auto limb_count) {
      entries_ += place.count;
      limbs_ += place.count * static_cast<std::int64_t>(decltype(limb_count)::value);
    });
    exchange();
    if constexpr (is_host_space<Space>) {
      const Scalar* const shares = multiply();
      add(reinterpret_cast<const Real*>(shares), reinterpret_cast<Real*>(sums));
    } else {
      add_there(reinterpret_cast<Real*>(sums), reinterpret_cast<Real*>(here));
    }
  }

 private:
  // ---- rows of chunks that more than one rank holds --------------------------------------------------------------

  // From one memory to the other where Space is a device's, in the order of its instance.
  void copy(const Rows<Kernel>& from, const Rows<Kernel>& to) const {
    const bool by_rows = from.layout == kernels::Layout::row_major;
    const auto bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(Kernel); };
    detail::copy_lines<Space>(context_, from.data, bytes(from.ld), to.data, bytes(to.ld),
                              bytes(by_rows ? from.columns : from.rows),
                              static_cast<std::size_t>(by_rows ? from.rows : from.columns));
  }

  // Calls visit(rows of an operand, the same number of rows in a stretch of memory) for all operands.
  template <class Visit>
  void for_operands(Kernel* memory, std::int64_t rows, const Visit& visit) const {
    for (const Product& product : products_) {
      visit(product.v, without_gaps(memory, rows, product.v));
      memory += rows * product.v.columns;
      if (product.same()) continue;
      visit(product.w, without_gaps(memory, rows, product.w));
      memory += rows * product.w.columns;
    }
  }

  void exchange() {
    const Piece lent = share_.lent();
    std::size_t partners = lent.rows() > 0 ? 1 : 0;
    std::int64_t borrowed_rows = 0;
    share_.for_borrowed([&](const Piece& piece) {
      ++partners;
      borrowed_rows += piece.rows();
    });
    if (partners == 0) return;

    // Partners tell each other what they are about. Where they differ no rows travel, and the reduction throws: their
    // tags become unlike those of all others.
    std::uint64_t tag = tag_;
    for (const Product& product : products_) tag = tag * 1000003 + (product.same() ? 1 : 0);
    auto* const tags = scope_.template take<std::uint64_t>(partners);
    auto* const sends = scope_.template take<Message>(partners);
    auto* const receives = scope_.template take<Message>(partners);
    std::size_t count = 0;
    const auto meet = [&](const Piece& piece) {
      sends[count] = {piece.rank, &tag, sizeof tag};
      receives[count] = {piece.rank, &tags[count], sizeof tag};
      ++count;
    };
    if (lent.rows() > 0) meet(lent);
    share_.for_borrowed(meet);
    context_.communicator().exchange({sends, count}, {receives, count});
    if (std::any_of(tags, tags + count, [&](std::uint64_t theirs) { return theirs != tag; }))
      tag_ ^= static_cast<std::uint64_t>(context_.communicator().rank()) + 1;

    std::size_t sent = 0, received = 0, partner = 0;
    if (lent.rows() > 0 && tags[partner++] == tag) {
      auto* const packed = staging_.template take<Kernel>(static_cast<std::size_t>(lent.rows() * row_words_));
      for_operands(packed, lent.rows(), [&](const Rows<Kernel>& operand, const Rows<Kernel>& to) {
        copy(part_of(operand, 0, lent.rows()), to);
      });
      context_.template fence<Space>();
      sends[sent++] = {lent.rank, packed, static_cast<std::size_t>(lent.rows() * row_words_) * sizeof(Kernel)};
    }
    auto* const borrowed = staging_.template take<Kernel>(static_cast<std::size_t>(borrowed_rows * row_words_));
    Kernel* place = borrowed;
    share_.for_borrowed([&](const Piece& piece) {
      const std::int64_t entries = piece.rows() * row_words_;
      if (tags[partner++] == tag) {
        receives[received++] = {piece.rank, place, static_cast<std::size_t>(entries) * sizeof(Kernel)};
      } else {
        std::fill_n(place, entries, Kernel(0));
      }
      place += entries;
    });
    context_.communicator().exchange({sends, sent}, {receives, received});
    if (borrowed_rows > 0) assemble(borrowed);
  }

  // The last chunk's rows, side by side.
  void assemble(Kernel* borrowed) {
    const std::int64_t last = share_.chunks() - 1;
    const std::int64_t begin = share_.chunk_begin(last);
    const std::int64_t rows = share_.chunk_end(last) - begin;
    const std::int64_t own = rows_.end() - begin;
    assembled_ = there_.template take<Kernel>(static_cast<std::size_t>(rows * row_words_));
    for_operands(assembled_, rows, [&](const Rows<Kernel>& operand, const Rows<Kernel>& whole) {
      copy(part_of(operand, begin - rows_.begin(), own), part_of(whole, 0, own));
    });
    share_.for_borrowed([&](const Piece& piece) {
      Kernel* from = borrowed;
      for_operands(assembled_, rows, [&](const Rows<Kernel>&, const Rows<Kernel>& whole) {
        copy(without_gaps(from, piece.rows(), whole), part_of(whole, piece.begin - begin, piece.rows()));
        from += piece.rows() * whole.columns;
      });
      borrowed += piece.rows() * row_words_;
    });
  }

  // ---- products of chunks ----------------------------------------------------------------------------------------

  static std::size_t workspace_bytes(const Product& product, std::int64_t rows) {
    const std::int64_t m = product.v.columns, n = product.w.columns;
    switch (product.wanted) {
      case Wanted::product:
        return kernels::tsmttsm_workspace<Kernel>(rows, m, n, product.v.layout);
      case Wanted::double_double:
        return kernels::tsmttsm_dd_workspace<Kernel>(rows, m, n, 1);
      case Wanted::diagonal:
        break;
    }
    return static_cast<std::size_t>(dots_levels(rows) * n) * sizeof(Scalar);
  }

  std::size_t workspace_bytes() const {
    std::size_t bytes = 0;
    for (const Product& product : products_) {
      for (const std::int64_t rows : {chunk_rows, rows_.global_rows() % chunk_rows})
        bytes = std::max(bytes, workspace_bytes(product, rows));
    }
    constexpr std::size_t page = 4096;  // threads keep to pages of their own
    return (bytes + page - 1) / page * page;
  }

  static void multiply_chunk(const Product& product, const Rows<Kernel>& v, const Rows<Kernel>& w, Scalar* share,
                             std::span<std::byte> workspace) {
    const auto result = [&](Scalar* entries) {
      return Rows<Kernel>{reinterpret_cast<Kernel*>(entries), v.columns, w.columns,
                          std::max<std::int64_t>(v.columns, 1), kernels::Layout::column_major};
    };
    constexpr auto op = kernels::Op::conjugate_transpose;
    switch (product.wanted) {
      case Wanted::product:
        return kernels::tsmttsm<Kernel>(op, Kernel(1), v, w, Kernel(0), result(share), {1, workspace});
      case Wanted::double_double:
        return kernels::tsmttsm_dd<Kernel>(op, v, w, result(share), result(share + product.entries()), {1, workspace});
      case Wanted::diagonal:
        v.layout == kernels::Layout::row_major ? dots<RowMajor>(v, w, share, workspace)
                                               : dots<ColumnMajor>(v, w, share, workspace);
    }
  }

  template <class Layout>
  static void dots(const Rows<Kernel>& v, const Rows<Kernel>& w, Scalar* share, std::span<std::byte> workspace) {
    const auto tall = [](const Rows<Kernel>& a) {
      return TallRows<Scalar, Layout>{reinterpret_cast<const Scalar*>(a.data), a.ld};
    };
    dots_of_rows(tall(v), tall(w), v.rows, v.columns, share, reinterpret_cast<Scalar*>(workspace.data()));
  }

  // What each of this rank's chunks comes to, chunk by chunk: one call of a kernel by one thread each.
  const Scalar* multiply() {
    const std::int64_t chunks = share_.chunks();
    auto* const shares = scope_.template take<Scalar>(static_cast<std::size_t>(chunks * words_));
    const std::size_t bytes = workspace_bytes();
    auto* const workspaces = scope_.template take<std::byte>(static_cast<std::size_t>(context_.threads()) * bytes);
    kernels::parallel_for(context_.threads(), chunks, [&](std::int64_t chunk, int thread) {
      const std::int64_t first = share_.chunk_begin(chunk) - rows_.begin();
      const std::int64_t rows = share_.chunk_end(chunk) - share_.chunk_begin(chunk);
      const bool is_assembled = assembled_ != nullptr && chunk + 1 == chunks;
      Scalar* share = shares + chunk * words_;
      Kernel* memory = assembled_;
      const auto next = [&](const Rows<Kernel>& operand) {
        if (!is_assembled) return part_of(operand, first, rows);
        const Rows<Kernel> whole = without_gaps(memory, rows, operand);
        memory += rows * operand.columns;
        return whole;
      };
      for (const Product& product : products_) {
        const Rows<Kernel> v = next(product.v);
        const Rows<Kernel> w = product.same() ? v : next(product.w);
        multiply_chunk(product, v, w, share, {workspaces + static_cast<std::size_t>(thread) * bytes, bytes});
        share += product.words();
      }
    });
    return shares;
  }

  // ---- their exact sum -------------------------------------------------------------------------------------------

  static constexpr std::int64_t reals = sizeof(Scalar) / sizeof(Real);

  // Where the real numbers of a product stand.
  struct Place {
    std::int64_t word;   // among those of a share; of double-double numbers the high parts
    std::int64_t entry;  // among those of which the largest is sought
    std::int64_t limb;
    std::int64_t count;  // entries
  };

  // visit(place, number of limbs, as a type) for all products.
  template <class Visit>
  void for_places(const Visit& visit) const {
    Place place{0, 0, 0, 0};
    const auto visit_next = [&](auto limb_count) {
      visit(place, limb_count);
      place.limb += place.count * static_cast<std::int64_t>(decltype(limb_count)::value);
    };
    for (const Product& product : products_) {
      place.count = product.entries() * reals;
      if (product.wanted == Wanted::double_double) {
        visit_next(std::integral_constant<std::size_t, Limbs::extended>());
      } else {
        visit_next(std::integral_constant<std::size_t, Limbs::plain>());
      }
      place.word += product.words() * reals;
      place.entry += place.count;
    }
  }

  // body(begin, end) for stretches of the entries of a product.
  template <class Body>
  void for_stretches_of(std::int64_t entries, const Body& body) const {
    constexpr std::int64_t stretch = 256;
    const int threads = share_.chunks() * entries < 65536 ? 1 : context_.threads();
    kernels::parallel_for(threads, (entries + stretch - 1) / stretch, [&](std::int64_t item, int) {
      body(item * stretch, std::min(entries, (item + 1) * stretch));
    });
  }

  void add(const Real* shares, Real* sums) {
    const std::int64_t words = words_ * reals, chunks = share_.chunks();
    auto* const largest = scope_.template take<std::int64_t>(static_cast<std::size_t>(entries_));
    for_places([&](const Place& place, auto) {
      for_stretches_of(place.count, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t* const to = largest + place.entry;
        std::fill(to + begin, to + end, std::int64_t{0});
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
          const Real* const share = shares + chunk * words + place.word;
          for (std::int64_t i = begin; i < end; ++i) to[i] = std::max(to[i], magnitude_bits(share[i]));
        }
      });
    });
    context_.max(largest, entries_, tag_);

    auto* const all_limbs = scope_.template take<std::int64_t>(static_cast<std::size_t>(limbs_));
    for_places([&](const Place& place, auto limb_count) {
      constexpr std::size_t count = decltype(limb_count)::value;
      for_stretches_of(place.count, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const Limbs cutter(largest[place.entry + i]);
          std::int64_t limbs[count] = {};
          for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            const Real* const share = shares + chunk * words + place.word + i;
            cutter.add(static_cast<double>(share[0]), limbs);
            if constexpr (count == Limbs::extended) cutter.add(static_cast<double>(share[place.count]), limbs);
          }
          std::copy_n(limbs, count, all_limbs + place.limb + i * static_cast<std::int64_t>(count));
        }
      });
    });
    context_.sum(all_limbs, limbs_, tag_);
    join(largest, all_limbs, sums);
  }

  // What the limbs stand for.
  void join(const std::int64_t* largest, const std::int64_t* all_limbs, Real* sums) const {
    for_places([&](const Place& place, auto limb_count) {
      constexpr std::size_t count = decltype(limb_count)::value;
      for (std::int64_t i = 0; i < place.count; ++i) {
        const Limbs cutter(largest[place.entry + i]);
        std::int64_t limbs[count];
        std::copy_n(all_limbs + place.limb + i * static_cast<std::int64_t>(count), count, limbs);
        Real* const sum = sums + place.word + i;
        if constexpr (count == Limbs::extended) {
          cutter.value(limbs, sum[0], sum[place.count]);
        } else {
          sum[0] = cutter.template value<Real>(limbs);
        }
      }
    });
  }

  // ---- the same on a device --------------------------------------------------------------------------------------

  // What is summed at a time: a product, or a few columns of two operands whose diagonal is asked for.
  struct Part {
    const Product& product;
    std::int64_t begin, end;   // columns of W, and of V for a diagonal
    std::int64_t entry, limb;  // where its numbers stand

    bool is_diagonal() const { return product.wanted == Wanted::diagonal; }
    Rows<Kernel> of_w(const Rows<Kernel>& w) const { return columns_of(w, begin, end); }
    Rows<Kernel> of_v(const Rows<Kernel>& v) const { return is_diagonal() ? of_w(v) : v; }
  };

  // visit(part, number of limbs, as a type) for all parts.
  template <class Visit>
  void for_parts(const Visit& visit) {
    constexpr std::int64_t diagonal_columns = 8;
    std::size_t index = 0;
    for_places([&](const Place& place, auto limb_count) {
      const Product& product = products_[index++];
      const std::int64_t columns = product.w.columns;
      const std::int64_t step =
          product.wanted == Wanted::diagonal ? diagonal_columns : std::max(columns, diagonal_columns);
      for (std::int64_t begin = 0; begin < columns; begin += step) {
        const std::int64_t before = begin * reals;
        visit(Part{product, begin, std::min(columns, begin + step), place.entry + before,
                   place.limb + before * static_cast<std::int64_t>(decltype(limb_count)::value)},
              limb_count);
      }
    });
  }

  // A part's sums over `shares` shares, at `sums` or in memory of their own, with room for those of `further_rows`.
  template <class LimbCount>
  auto sums_of(const Part& part, int shares, std::int64_t further_rows, void* sums, LimbCount) {
    using Plain = std::conditional_t<LimbCount::value == Limbs::extended, detail::ExtendedSum<Scalar>, detail::WideSum>;
    using Entries = detail::EntriesOfShares<Scalar, Plain>;
    using Sum = typename Entries::Sum;
    const std::int64_t rows = part.of_v(part.product.v).columns, columns = part.end - part.begin;
    if (sums == nullptr)
      sums = there_.template take<Sum>(static_cast<std::size_t>((rows + further_rows) * columns * shares));
    return Entries{static_cast<Sum*>(sums), shares,
                   static_cast<int>(rows),  static_cast<int>(columns),
                   part.product.same(),     part.is_diagonal()};
  }

  // W^H W is asked for after V^H W, and one pass makes both.
  bool has_gram_next(const Product& product) const {
    const auto next = static_cast<std::size_t>(&product - products_.data()) + 1;
    if (next == products_.size() || product.wanted != Wanted::product || product.same() ||
        product.w.columns > detail::most_gram_columns) {
      return false;
    }
    const Product& gram = products_[next];
    return gram.wanted == Wanted::product && gram.same() && Product{product.w, gram.w, gram.wanted}.same();
  }

  // Sums over the shares of this rank's chunks: the largest of each entry, and all as limbs relative to that.
  void multiply_there(std::int64_t* largest, std::int64_t* limbs) {
    const std::int64_t chunks = share_.chunks();
    const bool has_assembled = assembled_ != nullptr;
    const std::int64_t own_chunks = has_assembled ? chunks - 1 : chunks;
    const std::int64_t first = own_chunks > 0 ? share_.chunk_begin(0) - rows_.begin() : 0;
    const std::int64_t own = own_chunks > 0 ? share_.chunk_end(own_chunks - 1) - share_.chunk_begin(0) : 0;
    const std::int64_t assembled = has_assembled ? share_.chunk_end(chunks - 1) - share_.chunk_begin(chunks - 1) : 0;
    const auto shares_in = [](std::int64_t rows) { return static_cast<int>((rows + share_rows - 1) / share_rows); };
    Kernel* memory = assembled_;
    Rows<Kernel> v{}, w{};  // in the assembled chunk
    const auto next = [&](const Rows<Kernel>& operand) {
      const Rows<Kernel> whole = without_gaps(memory, assembled, operand);
      memory += assembled * operand.columns;
      return whole;
    };
    const detail::RunTeams<Space> run{context_};
    void* sums_of_gram = nullptr;  // that came with the product before
    for_parts([&](const Part& part, auto limb_count) {
      const Product& product = part.product;
      const bool gram_next = has_gram_next(product), is_there = sums_of_gram != nullptr;
      const std::int64_t further_rows = gram_next ? product.w.columns : 0;
      const auto sums = sums_of(part, shares_in(own) + shares_in(assembled), further_rows, sums_of_gram, limb_count);
      sums_of_gram = gram_next ? sums.sums + static_cast<std::int64_t>(sums.entries()) * sums.shares : nullptr;
      const auto of = gram_next        ? detail::Factors::two_and_gram
                      : product.same() ? detail::Factors::one
                                       : detail::Factors::two;
      const auto sum = [&](const Rows<Kernel>& a, const Rows<Kernel>& c, int first_share) {
        if (is_there) return;
        detail::sum_shares(part.of_v(a), part.of_w(c), of, share_rows, first_share, sums.shares, sums.sums, run);
      };
      sum(part_of(product.v, first, own), part_of(product.w, first, own), 0);
      if (has_assembled) {
        if (part.begin == 0) {
          v = next(product.v);
          w = product.same() ? v : next(product.w);
        }
        sum(v, w, shares_in(own));
      }
      run(sums.entries(), detail::LimbsOfShares<std::remove_const_t<decltype(sums)>, decltype(limb_count)::value>{
                              sums, largest + part.entry, limbs + part.limb});
    });
  }

  static Rows<Kernel> columns_of(Rows<Kernel> a, std::int64_t begin, std::int64_t end) {
    a.data += begin * (a.layout == kernels::Layout::row_major ? 1 : a.ld);
    a.columns = end - begin;
    return a;
  }

  template <class T>
  void transfer(const T* from, T* to, std::int64_t count) const {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    detail::copy_lines<Space>(context_, from, bytes, to, bytes, bytes, 1);
  }

  // The largest numbers of this rank and limbs relative to them, which all ranks get of one another.
  void add_there(Real* sums, Real* here) {
    const std::int64_t count = entries_ + limbs_;
    auto* const largest = there_.template take<std::int64_t>(static_cast<std::size_t>(count));
    multiply_there(largest, largest + entries_);
    const int ranks = context_.communicator().size();
    if (ranks > 1 && !context_.template sums_on_device<Space>()) {
      add_staged(largest, sums, here);
    } else {
      const std::int64_t* const all = context_.template gathered_in<Space>(there_, largest, count, tag_);
      for_places([&](const Place& place, auto limb_count) {
        launch<Space>(
            context_, place.count,
            detail::SumOfRanks<Real, decltype(limb_count)::value>{all + place.entry, all + entries_ + place.limb, count,
                                                                  ranks, sums + place.word, place.count});
      });
      if (here != nullptr) transfer(sums, here, words_ * reals);
    }
    // No copy out of staging memory is under way when others may write there.
    if (here != nullptr || assembled_ != nullptr) context_.template fence<Space>();
  }

  // Hosts find the largest magnitude of all ranks, carry their limbs over to it, and add them.
  void add_staged(const std::int64_t* there, Real* sums, Real* here) {
    const std::int64_t count = entries_ + limbs_;
    auto* const own = staging_.template take<std::int64_t>(static_cast<std::size_t>(count));
    auto* const largest = scope_.template take<std::int64_t>(static_cast<std::size_t>(entries_));
    auto* const results =
        here != nullptr ? here : staging_.template take<Real>(static_cast<std::size_t>(words_ * reals));
    transfer(there, own, count);
    context_.template fence<Space>();
    std::copy_n(own, entries_, largest);
    context_.max(largest, entries_, tag_);
    std::int64_t* const limbs = own + entries_;
    for_places([&](const Place& place, auto limb_count) {
      constexpr std::size_t length = decltype(limb_count)::value;
      for (std::int64_t i = 0; i < place.count; ++i) {
        std::int64_t* const at = limbs + place.limb + i * static_cast<std::int64_t>(length);
        std::int64_t carried[length] = {};
        Limbs(largest[place.entry + i]).add(Limbs(own[place.entry + i]), at, carried);
        std::copy_n(carried, length, at);
      }
    });
    context_.sum(limbs, limbs_, tag_);
    join(largest, limbs, results);
    transfer(results, sums, words_ * reals);
    context_.template fence<Space>();
  }

  const Context& context_;
  const RowDistribution& rows_;
  std::span<const Product> products_;
  std::uint64_t tag_;
  Share share_;
  WorkspaceScope<Space> there_;
  WorkspaceScope<StagingSpaceOf<Space>> staging_;
  WorkspaceScope<> scope_;
  std::int64_t row_words_ = 0;  // of all operands
  std::int64_t entries_ = 0;    // of which the largest is sought
  std::int64_t limbs_ = 0;
  std::int64_t words_ = 0;  // of all results
  Kernel* assembled_ = nullptr;
};

}  // namespace

template <class Space, class Scalar>
void sum_reproducibly(const Context& context, const RowDistribution& rows, std::span<const RowProduct<Scalar>> products,
                      std::uint64_t tag, Scalar* sums, Scalar* here) {
  bool is_double_double = false;
  for (const auto& product : products) is_double_double |= product.wanted == Wanted::double_double;
  constexpr std::int64_t terms = is_host_space<Space> ? 1 : chunk_rows / share_rows;  // of a chunk
  const std::int64_t most_chunks = Limbs::most_terms / (is_double_double ? 2 : 1) / terms;
  if (chunks_of(rows.global_rows()) > most_chunks) {
    throw ShapeError("a reproducible sum over " + rows.describe() + ": expected at most " +
                     std::to_string(most_chunks) + " chunks of " + std::to_string(chunk_rows) + " rows");
  }
  ReproducibleSum<Scalar, Space>(context, rows, products, tag)(sums, here);
}

#define BLOCKVEC_REPRODUCIBLE(Scalar, Space)                                                                         \
  template void sum_reproducibly<Space>(const Context&, const RowDistribution&, std::span<const RowProduct<Scalar>>, \
                                        std::uint64_t, Scalar*, Scalar*);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_REPRODUCIBLE)

}  // namespace blockvec
