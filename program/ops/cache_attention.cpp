#include "program/ops/cache_attention.h"

#include <type_traits>
#include <utility>

#include "kernels/attention/cache_attention.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr const char* kSeen = "seen";

template <class Call>
kernels::CachePlaces places_of(const Call& call, std::size_t first) {
  return {.at_BT = call.ids(first), .where_S = call.ids(first + 1)};
}

constexpr Kernel kCacheAttention{
    .name = "cache_attention",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::cache_attention(call.in(0), call.in(1), call.in(2), places_of(call, 3), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::cache_attention_cost(block.shape(0), block.shape(1), block.constant(kSeen),
                                               block.element_size());
        },
    .types = KernelTypes::stored,
};

constexpr Kernel kCacheScores{
    .name = "cache_scores",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::cache_scores(call.in(0), call.in(1), places_of(call, 2), call.sum_out(0), call.sum_out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::cache_scores_cost(block.shape(0), block.shape(1), block.constant(kSeen),
                                            block.operand_size(0));
        },
    .types = KernelTypes::stored,
    .sum_results = {0, 1},
};

constexpr Kernel kCacheWeigh{
    .name = "cache_weigh",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::cache_weigh(call.sum_in(1), call.in(0), call.sum_in(2), places_of(call, 3), call.sum_out(0),
                                 call.sum_out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::cache_scores_cost(block.shape(2), block.shape(0), block.constant(kSeen),
                                            block.operand_size(0));
        },
    .types = KernelTypes::stored,
    .sum_operands = {1, 2},
    .sum_results = {0, 1},
};

constexpr Kernel kCacheDivide{
    .name = "cache_divide",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          const std::vector<const Tensor*> made(arrays.results.begin(), arrays.results.end());
          with_stored({made, arrays.results}, [&](const auto& call) {
            using Sums = SumOf<typename std::decay_t<decltype(call)>::Element>;
            kernels::cache_divide(std::as_const(*arrays.operands[0]).template view<Sums>(),
                                  std::as_const(*arrays.operands[1]).template view<Sums>(), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::cache_divide_cost(block.elements(0), block.operand_size(0), block.element_size());
        },
    .types = KernelTypes::any,
};

/// Divides weighted values by the sums of their weights. The result has the form of `q`.
ArrayId cache_divide(Program& program, const std::string& name, ArrayId weighted, ArrayId sum, ArrayId q) {
  const ArrayId o = add_like(program, name, q);
  Builder(program, "cache_divide").phase(kCacheDivide, {weighted, sum}, {o}).whole({"H"}).append({weighted, sum}, {o});
  return o;
}

ArrayId attend_whole(Program& program, const std::string& name, const std::vector<ArrayId>& operands, double seen) {
  const ArrayId o = add_like(program, name, operands[0]);
  Builder(program, "cache_attention")
      .phase(kCacheAttention, operands, {o})
      .whole({"S", "H"})
      .constants({{kSeen, seen}})
      .append(operands, {o});
  return o;
}

/// As the cross entropy over a split vocabulary: the largest score owes a maximum, weights and their sum owe a sum.
ArrayId attend_in_phases(Program& program, const std::string& name, const std::vector<ArrayId>& operands, double seen) {
  const ArrayId q = operands[0], k = operands[1], v = operands[2], at = operands[3], where = operands[4];
  const Dims rows = leading(program.array(q).dims);
  Dims of_scores = rows;
  of_scores.emplace_back("S");
  const auto add = [&](const char* which, const Dims& dims) {
    const ArrayId made = program.add_array(name + which, dims);
    program.array(made).dtype = sum_type(program.array(q).dtype);
    return made;
  };
  const ArrayId scores = add(".scores", of_scores);
  const ArrayId max = add(".max", rows);
  program.array(max).reduce = ReduceOp::max;
  const ArrayId weighted = add(".weighted", program.array(q).dims);
  const ArrayId sum = add(".sum", rows);
  Builder(program, "cache_attention")
      .phase(kCacheScores, {q, k, at, where}, {scores, max})
      .phase(kCacheWeigh, {v, scores, max, at, where}, {weighted, sum})
      .whole({"H"})
      .constants({{kSeen, seen}})
      .append(operands, {weighted, sum});
  return cache_divide(program, name, weighted, sum, q);
}

/// Inputs of a token for each of a few sequences, and what attends to their caches.
ArrayId sample(Program& program, bool split_places) {
  const ArrayId q = program.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
  const ArrayId k = program.add_input("k", {"B", "S", "K", "H"}, Role::activation);
  const ArrayId v = program.add_input("v", {"B", "S", "K", "H"}, Role::activation);
  const ArrayId at = program.add_input("at", {"B", "T"}, Role::positions);
  const ArrayId where = program.add_input("where", {"S"}, Role::positions);
  return cache_attention(program, "o", q, k, v, at, where, {.split_places = split_places});
}

ArrayId sample_whole(Program& program) { return sample(program, false); }
ArrayId sample_split(Program& program) { return sample(program, true); }

const std::map<std::string, Index> kSampleSizes = {{"B", 2}, {"T", 1}, {"S", 512}, {"K", 2}, {"G", 2}, {"H", 64}};

}  // namespace

ArrayId cache_attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v, ArrayId at,
                        ArrayId where, const CacheAttentionOptions& options) {
  const std::vector<ArrayId> operands{q, k, v, at, where};
  return options.split_places ? attend_in_phases(program, name, operands, options.seen)
                              : attend_whole(program, name, operands, options.seen);
}

OperationKind cache_attention_kind() {
  return {.name = "cache_attention", .sample = sample_whole, .sample_sizes = kSampleSizes};
}

OperationKind cache_divide_kind() {
  return {.name = "cache_divide", .sample = sample_split, .sample_sizes = kSampleSizes};
}

}  // namespace shardline
