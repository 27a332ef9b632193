#include "program/ops/attention.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/attention/attention.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr const char* kBalanced = "balanced";

/// The places of a call. Operands from number `first` on: positions of queries, of keys, and starts if there are any.
template <class Call>
kernels::AttentionPlaces places_of(const Call& call, std::size_t first) {
  return {.query_positions = call.ids(first),
          .key_positions = call.ids(first + 1),
          .starts = call.operands() > first + 2 ? call.ids(first + 2) : View<const std::int32_t>{}};
}

kernels::AttentionShare share_of(const PhaseBlock& block) {
  const std::vector<std::string>& indices = block.operation.indices;
  const auto tokens = std::find(indices.begin(), indices.end(), "T") - indices.begin();
  return {.tokens = block.operation.extents.at(static_cast<std::size_t>(tokens)),
          .balanced = block.constant(kBalanced) != 0};
}

void clear(const std::vector<Tensor*>& arrays) {
  for (Tensor* array : arrays) {
    if (array->bytes() > 0) std::memset(array->data(), 0, static_cast<std::size_t>(array->bytes()));
  }
}

template <class Call>
auto state_of(const Call& call) {
  return kernels::AttentionState<typename Call::Element>{call.sum_out(0), call.sum_out(1), call.sum_out(2)};
}

/// The state of AttentionState.
constexpr BlockwiseKernel kAttentionVisits{
    .index = "S",
    .rows = "T",
    .shaped_as = {0, 1, 1},
    .begin =
        [](const std::vector<Tensor*>& state) {
          with_elements({{}, state}, [](const auto& call) { kernels::attention_begin(state_of(call)); });
        },
    .visit =
        [](const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::attention_visit(call.in(0), call.in(1), call.in(2), places_of(call, 3), state_of(call));
          });
        },
    .finish =
        [](const std::vector<Tensor*>& state, const std::vector<Tensor*>& results) {
          const std::vector<const Tensor*> made(results.begin(), results.end());
          with_stored({made, state}, [&](const auto& call) {
            using Element = typename std::decay_t<decltype(call)>::Element;
            kernels::attention_finish(state_of(call), results[0]->view<Element>(), results[1]->view<SumOf<Element>>());
          });
        },
};

/// The state is the sums of dq, dk and dv.
constexpr BlockwiseKernel kAttentionGradVisits{
    .index = "S",
    .rows = "T",
    .shaped_as = {0, 1, 2},
    .begin = clear,
    .visit =
        [](const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::attention_grad_visit(call.in(0), call.in(1), call.in(2), call.in(3), call.sum_in(4), call.in(5),
                                          places_of(call, 6), call.sum_out(0), call.sum_out(1), call.sum_out(2));
          });
        },
    .finish =
        [](const std::vector<Tensor*>& state, const std::vector<Tensor*>& results) {
          for (std::size_t k = 0; k < results.size(); ++k) {
            if (results[k]->data() != state[k]->data()) convert(*state[k], *results[k]);
          }
        },
};

constexpr Kernel kAttention{
    .name = "attention",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::attention(call.in(0), call.in(1), call.in(2), places_of(call, 3), call.out(0), call.sum_out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::attention_cost(block.shape(0), block.shape(1), share_of(block), block.element_size());
        },
    .types = KernelTypes::stored,
    .sum_results = {1},
    .blockwise = &kAttentionVisits,
};

constexpr Kernel kAttentionGrad{
    .name = "attention_grad",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::attention_grad(call.in(0), call.in(1), call.in(2), call.in(3), call.sum_in(4), call.in(5),
                                    places_of(call, 6), call.out(0), call.out(1), call.out(2));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::attention_grad_cost(block.shape(0), block.shape(1), share_of(block), block.element_size());
        },
    .types = KernelTypes::stored,
    .sum_operands = {4},
    .blockwise = &kAttentionGradVisits,
};

/// The array with its dim T called S: the index of keys.
Term keys(const Program& program, ArrayId array) {
  Dims dims = program.array(array).dims;
  std::replace(dims.begin(), dims.end(), std::string("T"), std::string("S"));
  return {array, dims};
}

/// The terms of `positions`, for queries and for keys, and of `starts` if there are any. Appends them to `terms`.
void append_places(const Program& program, std::vector<Term>& terms, ArrayId positions, ArrayId starts) {
  terms.push_back({positions, program.array(positions).dims});
  terms.push_back(keys(program, positions));
  if (starts >= 0) terms.push_back({starts, program.array(starts).dims});
}

void differentiate_attention(Gradients& gradients, const Operation& forward, ArrayId d_o) {
  Program& program = gradients.program();
  const std::vector<ArrayId> primal(forward.operands.begin(), forward.operands.begin() + 3);
  const ArrayId q = primal[0], k = primal[1], v = primal[2], positions = forward.operands[3];
  const ArrayId starts = forward.operands.size() > 4 ? forward.operands[4] : ArrayId{-1};
  const ArrayId o = forward.results[0];
  const ArrayId lse = forward.results[1];
  const std::vector<ArrayId> made = gradients.contributions(primal);
  Builder builder(program, "attention_grad");
  const auto own = [&](ArrayId array) { return builder.named(array); };
  std::vector<Term> terms{own(q), keys(program, k), keys(program, v), own(o), own(lse), own(d_o)};
  append_places(program, terms, positions, starts);
  std::vector<ArrayId> operands{q, k, v, o, lse, d_o};
  operands.insert(operands.end(), forward.operands.begin() + 3, forward.operands.end());
  builder.phase_of_terms(kAttentionGrad, terms, {own(made[0]), keys(program, made[1]), keys(program, made[2])})
      .whole({"S", "H"})
      .linear_in({d_o})
      .constants(forward.constants)
      .append(operands, made);
  gradients.give_all(primal, made);
}

ArrayId sample_attention(Program& program) {
  const ArrayId q = program.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
  const ArrayId k = program.add_input("k", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId v = program.add_input("v", {"B", "T", "K", "H"}, Role::activation);
  return attention(program, "o", q, k, v, program.add_input("positions", {"T"}, Role::positions));
}

}  // namespace

ArrayId attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v, ArrayId positions,
                  ArrayId starts, bool balanced) {
  const Dims dims = program.array(q).dims;
  const ArrayId o = program.add_array(name, dims);
  const ArrayId lse = add_sums(program, name + ".lse", leading(dims));
  Builder builder(program, "attention");
  std::vector<Term> terms{builder.named(q), keys(program, k), keys(program, v)};
  append_places(program, terms, positions, starts);
  std::vector<ArrayId> operands{q, k, v, positions};
  if (starts >= 0) operands.push_back(starts);
  builder.phase_of_terms(kAttention, terms, {builder.named(o), builder.named(lse)})
      .whole({"S", "H"})
      .constants({{kBalanced, balanced ? 1 : 0}})
      .append(operands, {o, lse});
  return o;
}

OperationKind attention_kind() {
  return {.name = "attention",
          .derivative = differentiate_attention,
          .sample = sample_attention,
          // Long enough that rows at the diagonal, which see a part of a tile, count as little as in training.
          .sample_sizes = {{"B", 2}, {"T", 512}, {"K", 2}, {"G", 2}, {"H", 64}}};
}

}  // namespace shardline
