#include "kernels/einsum/einsum.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/einsum/contraction.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

void check_subscripts(const char* what, const Subscripts& subscripts, const Shape& shape) {
  SHARDLINE_CHECK(subscripts.size() == shape.size(), "einsum: {} has {} dims and {} subscripts", what, shape.size(),
                  subscripts.size());
  for (auto at = subscripts.begin(); at != subscripts.end(); ++at) {
    SHARDLINE_CHECK(std::find(subscripts.begin(), at, *at) == at, "einsum: {} has an index twice", what);
  }
}

void match_extents(const char* what, const Subscripts& subscripts, const Shape& shape, const Extents& extents) {
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const auto known = extents.find(subscripts[d]);
    SHARDLINE_CHECK(known != extents.end(), "einsum: index {} of {} is in no operand", subscripts[d], what);
    SHARDLINE_CHECK(known->second == shape[d], "einsum: index {} has extent {} in {} and {} elsewhere", subscripts[d],
                    shape[d], what, known->second);
  }
}

template <class S, class R>
Extents collect_extents(std::span<const EinsumOperand<S>> operands, const View<R>& out,
                        const Subscripts& out_subscripts) {
  Extents extents;
  for (const EinsumOperand<S>& operand : operands) {
    check_subscripts("an operand", operand.subscripts, operand.view.shape);
    for (std::size_t d = 0; d < operand.subscripts.size(); ++d) {
      extents.add(operand.subscripts[d], operand.view.shape[d]);
    }
    match_extents("an operand", operand.subscripts, operand.view.shape, extents);
  }
  check_subscripts("the result", out_subscripts, out.shape);
  match_extents("the result", out_subscripts, out.shape, extents);
  return extents;
}

void check_window(const Window& window, const Extents& extents) {
  const auto known = extents.find(window.index);
  SHARDLINE_CHECK(known != extents.end(), "einsum: index {} of the window is in no operand", window.index);
  SHARDLINE_CHECK(
      0 <= window.range.begin && window.range.begin <= window.range.end && window.range.end <= known->second,
      "einsum: a window [{}, {}) of index {}, whose extent is {}", window.range.begin, window.range.end, window.index,
      known->second);
}

/// A whole array as a term. Drops indices of extent 1: they change no offset, and fewer layouts
/// need cases.
template <class T>
Term<T> whole_term(T* data, const Subscripts& subscripts, const Extents& extents) {
  Subscripts kept = subscripts;
  std::erase_if(kept, [&](int index) { return extents.at(index) == 1; });
  return {data, dense_layout(std::move(kept), extents)};
}

/// The part of an array in the window.
template <class T>
void narrow(Term<T>& term, const Window& window) {
  if (term.data != nullptr) term.data += window.range.begin * term.layout.stride(window.index);
}

bool includes_all(const Subscripts& all, const Subscripts& some) {
  return std::all_of(some.begin(), some.end(), [&](int index) { return contains(all, index); });
}

Subscripts unite(Subscripts a, const Subscripts& b) {
  std::copy_if(b.begin(), b.end(), std::back_inserter(a), [&](int index) { return !contains(a, index); });
  return a;
}

template <class T>
using Terms = std::vector<Term<const T>>;

template <class T>
Subscripts all_indices(const Terms<T>& terms) {
  Subscripts all;
  for (const auto& term : terms) all = unite(std::move(all), term.layout.subscripts);
  return all;
}

template <class S, class R>
void contract(Terms<S> terms, const Term<R>& out, const Extents& extents, bool accumulate,
              const Windowed* windowed = nullptr);

/// Computes the loop nest position by position. The work is one walk over its largest array.
template <class S, class R>
void contract_directly(const Terms<S>& terms, const Term<R>& out, const Extents& extents, bool accumulate) {
  std::vector<Layout> arrays{out.layout};
  std::vector<const S*> data;
  for (const auto& term : terms) {
    arrays.push_back(term.layout);
    data.push_back(term.data);
  }
  sum_of_products<S, R>(make_loops(all_indices(terms), arrays, extents), data, out.data, accumulate);
}

/// The indices of one operand that the other, or the result, has too.
template <class S>
Subscripts shared_indices(const Terms<S>& terms, std::size_t i, const Layout& out) {
  const Subscripts needed = unite(out.subscripts, terms[1 - i].layout.subscripts);
  Subscripts kept = terms[i].layout.subscripts;
  std::erase_if(kept, [&](int index) { return !contains(needed, index); });
  return kept;
}

/// Neither an operand nor the result has all indices. First sums over indices that one operand
/// alone has, then multiplies.
template <class T>
void contract_two(Terms<T> terms, const Term<T>& out, const Extents& extents, bool accumulate,
                  const Windowed* windowed) {
  for (std::size_t i = 0; i < 2; ++i) {
    Term<const T>& term = terms[i];
    const Subscripts kept = shared_indices(terms, i, out.layout);
    if (kept == term.layout.subscripts) continue;
    const Scratch<T> sum = make_scratch<T>(count_elements(kept, extents));
    const Term<T> summed{sum.get(), dense_layout(kept, extents)};
    copy_or_sum<T, T>(term, summed, extents);
    term = {summed.data, summed.layout};
    return contract(std::move(terms), out, extents, accumulate);
  }
  contract_by_gemm(terms[0], terms[1], out, extents, accumulate, windowed);
}

/// The first pair of operands in which one has all indices of the other; else the first two.
template <class T>
std::array<std::size_t, 3> choose_pair(const Terms<T>& terms) {
  for (const std::array<std::size_t, 3> order : {std::array<std::size_t, 3>{0, 1, 2}, {0, 2, 1}, {1, 2, 0}}) {
    const Subscripts& a = terms[order[0]].layout.subscripts;
    const Subscripts& b = terms[order[1]].layout.subscripts;
    if (includes_all(a, b) || includes_all(b, a)) return order;
  }
  return {0, 1, 2};
}

template <class T>
void contract_three(const Terms<T>& terms, const Term<T>& out, const Extents& extents, bool accumulate) {
  const auto [first, second, rest] = choose_pair(terms);
  Subscripts kept = unite(terms[first].layout.subscripts, terms[second].layout.subscripts);
  const Subscripts needed = unite(out.layout.subscripts, terms[rest].layout.subscripts);
  std::erase_if(kept, [&](int index) { return !contains(needed, index); });
  const Scratch<T> memory = make_scratch<T>(count_elements(kept, extents));
  const Term<T> product{memory.get(), dense_layout(kept, extents)};
  contract<T, T>({terms[first], terms[second]}, product, extents, false);
  contract<T, T>({{product.data, product.layout}, terms[rest]}, out, extents, accumulate);
}

/// Operands in bf16 that are not one product of matrices: in f32.
void contract_widened(const Terms<BFloat16>& terms, const Term<float>& out, const Extents& extents, bool accumulate) {
  std::vector<Scratch<float>> copies;
  Terms<float> wide;
  for (const auto& term : terms) {
    copies.push_back(make_scratch<float>(count_elements(term.layout.subscripts, extents)));
    const Term<float> copy{copies.back().get(), dense_layout(term.layout.subscripts, extents)};
    copy_or_sum<BFloat16, float>(term, copy, extents);
    wide.push_back({copy.data, copy.layout});
  }
  contract<float, float>(std::move(wide), out, extents, accumulate);
}

/// A result in bf16, from its whole sums in f32.
void contract_and_round(Terms<BFloat16> terms, const Term<BFloat16>& out, const Extents& extents) {
  const Scratch<float> memory = make_scratch<float>(count_elements(out.layout.subscripts, extents));
  const Term<float> sums{memory.get(), dense_layout(out.layout.subscripts, extents)};
  contract<BFloat16, float>(std::move(terms), sums, extents, false);
  copy_or_sum<float, BFloat16>({sums.data, sums.layout}, out, extents);
}

/// True if two operands are one product of matrices: every index is in two of the three arrays, or in all.
template <class S>
bool multiplies_matrices(const Terms<S>& terms, const Layout& out) {
  return terms.size() == 2 && shared_indices(terms, 0, out) == terms[0].layout.subscripts &&
         shared_indices(terms, 1, out) == terms[1].layout.subscripts;
}

/// The operand that is a vector, where two operands are a vector and a matrix in f32 or bf16: every index of the vector
/// is in the matrix too, and every other one of the matrix in the result. Small matrices are better taken directly.
template <class S>
std::optional<std::size_t> vector_beside_matrix(const Terms<S>& terms, const Layout& out, const Extents& extents) {
  constexpr Index kSmall = 64 * 64;
  if (std::is_same_v<S, double> || terms.size() != 2) return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    const Subscripts &vector = terms[i].layout.subscripts, &matrix = terms[1 - i].layout.subscripts;
    Subscripts contracted = vector, free = matrix;
    std::erase_if(contracted, [&](int index) { return contains(out.subscripts, index); });
    std::erase_if(free, [&](int index) { return contains(vector, index); });
    if (contracted.empty() || free.empty()) continue;
    if (!includes_all(matrix, vector) || !includes_all(out.subscripts, free)) continue;
    if (count_elements(contracted, extents) * count_elements(free, extents) >= kSmall) return i;
  }
  return std::nullopt;
}

template <class S, class R>
void contract(Terms<S> terms, const Term<R>& out, const Extents& extents, bool accumulate, const Windowed* windowed) {
  if (const auto vector = vector_beside_matrix(terms, out.layout, extents)) {
    return contract_by_gemm(terms[*vector], terms[1 - *vector], out, extents, accumulate, windowed);
  }
  const Subscripts all = all_indices(terms);
  const bool sums = !includes_all(out.layout.subscripts, all);
  const bool one_holds_all = !sums || std::any_of(terms.begin(), terms.end(), [&](const Term<const S>& term) {
    return includes_all(term.layout.subscripts, all);
  });
  if constexpr (std::is_same_v<S, BFloat16>) {
    constexpr bool kRounds = std::is_same_v<R, BFloat16>;
    if (one_holds_all && !(kRounds && sums)) return contract_directly(terms, out, extents, accumulate);
    if (!one_holds_all && multiplies_matrices(terms, out.layout)) {
      return contract_by_gemm(terms[0], terms[1], out, extents, accumulate, windowed);
    }
    if constexpr (kRounds) {
      contract_and_round(std::move(terms), out, extents);
    } else {
      contract_widened(terms, out, extents, accumulate);
    }
  } else {
    if (one_holds_all) return contract_directly(terms, out, extents, accumulate);
    if (terms.size() == 2) return contract_two(std::move(terms), out, extents, accumulate, windowed);
    contract_three(terms, out, extents, accumulate);
  }
}

}  // namespace

template <class S, class R>
void einsum(std::span<const EinsumOperand<S>> operands, View<R> out, const Subscripts& out_subscripts,
            const std::optional<Window>& window, KeptOperands* kept) {
  SHARDLINE_CHECK(!operands.empty() && operands.size() <= 3, "einsum of {} operands; 1 to 3 are legal",
                  operands.size());
  Extents extents = collect_extents(operands, out, out_subscripts);
  Terms<S> terms;
  for (const EinsumOperand<S>& operand : operands)
    terms.push_back(whole_term(operand.view.data, operand.subscripts, extents));
  Term<R> result = whole_term(out.data, out_subscripts, extents);
  if (window) {
    check_window(*window, extents);
    if (window->range.size() == 0 && contains(out_subscripts, window->index)) return;
    for (Term<const S>& term : terms) narrow(term, *window);
    narrow(result, *window);
    extents.narrow(window->index, window->range.size());
  }
  const bool accumulate = window && window->accumulate;
  SHARDLINE_CHECK(!accumulate || kDTypeOf<R> != DType::bf16, "einsum: a result in bf16 is not accumulated");
  const bool sums_nothing = std::any_of(extents.begin(), extents.end(), [](const auto& e) { return e.second == 0; });
  const std::optional<Windowed> windowed =
      window && kept != nullptr ? std::optional(Windowed{window->index, kept}) : std::nullopt;
  if (!sums_nothing) {
    return contract(std::move(terms), result, extents, accumulate, windowed ? &*windowed : nullptr);
  }
  if (!accumulate) clear_result(make_loops(result.layout.subscripts, {result.layout}, extents), result.data);
}

Cost einsum_cost(std::span<const Index> extents, std::span<const Subscripts> operands, const Subscripts& out,
                 Index element_size) {
  const auto count = [&](const Subscripts& subscripts) {
    double elements = 1;
    for (const int index : subscripts) elements *= static_cast<double>(extents[static_cast<std::size_t>(index)]);
    return elements;
  };
  Subscripts all;
  double stored = count(out);
  for (const Subscripts& operand : operands) {
    all = unite(std::move(all), operand);
    stored += count(operand);
  }
  return {Flops(static_cast<double>(operands.size()) * count(all)), Bytes(stored * static_cast<double>(element_size))};
}

#define SHARDLINE_INSTANTIATE(S, R)                                                                                 \
  template void einsum(std::span<const EinsumOperand<S>>, View<R>, const Subscripts&, const std::optional<Window>&, \
                       KeptOperands*);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)
SHARDLINE_INSTANTIATE(BFloat16, BFloat16)

}  // namespace shardline::kernels
