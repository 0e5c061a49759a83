#include <algorithm>
#include <charconv>
#include <iterator>

#include "src/dispatch/cuda/configuration.hpp"

namespace blockvec::kernels::dispatch {
namespace {

template <class Configuration>
std::span<const Field<Configuration>> fields_of(const Configuration& c) {
  return c.entry.fields_of != nullptr ? c.entry.fields_of(c) : c.entry.fields;
}

template <class Any>
std::string say(const Any& configuration) {
  return std::visit(
      [](const auto& c) {
        std::string text;
        if (c.policy != Policy::usual) text = "policy " + std::string(policies[static_cast<std::size_t>(c.policy)]);
        for (const auto& field : fields_of(c)) {
          text += text.empty() ? "" : " ";
          text += std::string(field.name) + ' ' + std::to_string(c.*field.first);
          if (field.second != nullptr) text += 'x' + std::to_string(c.*field.second);
        }
        return text;
      },
      configuration.of_kernel);
}

bool read_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// The piece of `text` up to the next blank, which is taken away with it.
std::string_view take_piece(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

template <class Configuration>
bool read_fields(std::string_view text, Configuration& c) {
  const auto fields = fields_of(c);
  while (!text.empty()) {
    const std::string_view name = take_piece(text);
    std::string_view value = take_piece(text);
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.name == name; });
    if (field == fields.end() || !read_number(value, c.*field->first)) return false;
    if (field->second != nullptr) {
      if (value.empty() || value.front() != 'x') return false;
      value.remove_prefix(1);
      if (!read_number(value, c.*field->second)) return false;
    }
    if (!value.empty()) return false;
  }
  return true;
}

// The value whose word in `words` is `word`.
template <class Value, std::size_t count>
bool read_word(const std::string_view (&words)[count], std::string_view word, Value& value) {
  const auto place = std::find(std::begin(words), std::end(words), word);
  value = static_cast<Value>(place - std::begin(words));
  return place != std::end(words);
}

}  // namespace

std::string name_of(CudaKernel kernel) { return std::string(kernels[static_cast<std::size_t>(kernel)]); }

std::string name_of(CudaBound bound) {
  constexpr const char* names[] = {"memory", "tensor cores", "arithmetic", "shared memory", "latency"};
  return names[static_cast<std::size_t>(bound)];
}

std::string words(const CudaTsmttsm& configuration) {
  return configuration->kernel == CudaKernel::none ? "nothing to multiply" : say(configuration);
}

std::string words(const CudaTsmm& configuration) {
  if (!configuration.in_parts()) return say(configuration);
  const std::string rows_of = configuration.part_rows > 0 ? std::to_string(configuration.part_rows) + " rows of " : "";
  return "parts of " + rows_of + std::to_string(configuration.part_columns) + " columns: " + say(configuration);
}

template <class Any>
bool read_words(std::string_view kernel, std::string_view words, Any& configuration) {
  CudaKind kind{};
  if (!read_word(kernels, kernel, kind.kernel)) return false;
  if (words.starts_with("policy ")) {
    take_piece(words);
    if (!read_word(policies, take_piece(words), kind.policy)) return false;
  }
  bool good = false;
  for_each_kind<Any>([&](auto& c) {
    if (!(kind == c)) return;
    good = read_fields(words, c);
    configuration = c;
  });
  return good;
}
template bool read_words(std::string_view, std::string_view, CudaTsmttsm&);
template bool read_words(std::string_view, std::string_view, CudaTsmm&);

}  // namespace blockvec::kernels::dispatch
