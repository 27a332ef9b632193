#include "models/planning/generation_ways.h"

#include <algorithm>
#include <utility>

namespace shardline {
namespace {

/// Roles of generation that this file gives to axes. What they do is said in the strategy table.
constexpr const char* kHeads = "tp_rep";
constexpr const char* kExpertsAndHeads = "ep_rep";
constexpr const char* kCachesByBatch = "rep_b";
constexpr const char* kCachesByPlaces = "rep_s";
constexpr const char* kModelWidth = "ws";
constexpr const char* kPromptTokens = "cp_s";

/// The largest divisor of `ranks` that is at most `most`.
Index ranks_up_to(Index ranks, Index most) {
  Index divisor = std::min(ranks, most);
  while (ranks % divisor != 0) --divisor;
  return divisor;
}

/// The name of an axis with this role in the book, beside an axis of other roles.
Axis axis_of_role(const std::string& role) {
  if (role == kHeads || role == kExpertsAndHeads) return "Y";
  return role == kCachesByBatch || role == kCachesByPlaces ? "Z" : "X";
}

NamedWay with_names(const GenerationWay& way, const Axes& axes) {
  std::vector<std::pair<Axis, Index>> sizes;
  NamedWay named;
  for (std::size_t a = 0; a < way.size(); ++a) {
    sizes.emplace_back(axes[a], way[a].ranks);
    named.strategy.emplace_back(axes[a], AxisRole::parse(way[a].role, RoleUse::generation));
  }
  named.mesh = chip_mesh(AbstractMesh(sizes));
  return named;
}

/// Axes of one rank are left out, unless no other is there.
GenerationWay without_single_ranks(GenerationWay way) {
  const GenerationWay all = way;
  std::erase_if(way, [](const RoleOfRanks& each) { return each.ranks == 1; });
  return way.empty() ? GenerationWay{all.front()} : way;
}

/// Strategies of prefill beside that of decode.
std::vector<Strategy> prefill_strategies(const Strategy& decode) {
  std::vector<Strategy> ways{decode};
  Strategy by_tokens = decode;
  for (auto& [axis, role] : by_tokens) {
    if (!splits_heads(role.row())) role = AxisRole::parse(kPromptTokens, RoleUse::generation);
  }
  if (to_string(by_tokens) != to_string(decode)) ways.push_back(by_tokens);
  return ways;
}

Bytes least_bytes(const DerivedQuery& query, const std::vector<GenerationWay>& ways) {
  return least_sent(query, ways)->layer.sent;
}

}  // namespace

std::vector<GenerationWay> one_axis_ways(const TransformerConfig& config, Index ranks) {
  std::vector<GenerationWay> ways;
  const Index heads = ranks_up_to(ranks, config.kv_heads);
  if (heads == ranks) ways.push_back({{kHeads, ranks}});
  if (heads == ranks && config.experts.count >= ranks && ranks > 1) ways.push_back({{kExpertsAndHeads, ranks}});
  const Index beside = heads < ranks ? heads : ranks_up_to(ranks, std::max<Index>(1, ranks / 2));
  if (beside == ranks) return ways;
  for (const char* caches : {kCachesByBatch, kCachesByPlaces}) {
    ways.push_back(without_single_ranks({{kHeads, beside}, {caches, ranks / beside}}));
  }
  return ways;
}

std::vector<GenerationWay> two_axes_ways(const TransformerConfig& config, Index ranks) {
  std::vector<GenerationWay> ways;
  for (Index width = 2; width <= ranks / 2; ++width) {
    if (ranks % width != 0) continue;
    const Index others = ranks / width;
    for (Index heads = 2; heads <= std::min(others, config.kv_heads); ++heads) {
      if (others % heads != 0) continue;
      ways.push_back(without_single_ranks({{kModelWidth, width}, {kHeads, heads}, {kCachesByBatch, others / heads}}));
    }
  }
  return ways;
}

std::vector<GenerationWay> data_parallel_ways(Index ranks) {
  if (ranks == 1) return {};
  return {{{"dp", ranks}}, {{"fsdp", ranks}}};
}

NamedWay named_way(const GenerationWay& way) {
  Axes axes;
  for (const RoleOfRanks& each : way) axes.push_back(axis_of_role(each.role));
  return with_names(way, axes);
}

std::optional<NamedWay> named_way(const GenerationWay& way, const Axes& axes) {
  if (axes.size() < way.size()) return std::nullopt;
  return with_names(way, axes);
}

std::vector<NamedWay> laid_ways(const roofline::Chip& chip, const GenerationWay& way) {
  const NamedWay named = named_way(way);
  std::vector<NamedWay> laid;
  for (const ChipMesh& mesh : laid_every_way(chip, named.mesh.mesh)) laid.push_back({mesh, named.strategy});
  return laid;
}

std::optional<DerivedGeneration> fastest_generation(const DerivedQuery& query, const std::vector<NamedWay>& ways,
                                                    const HardwareOf& hardware_of) {
  std::optional<DerivedGeneration> best;
  const NamedWay* chosen = nullptr;
  for (const NamedWay& way : ways) {
    DerivedDecode decode = derived_decode(query, way.mesh.mesh, way.strategy, hardware_of(way.mesh));
    if (best && best->decode.time() <= decode.time()) continue;
    best = {way.mesh.layout, std::move(decode), {}};
    chosen = &way;
  }
  if (!best) return best;
  const roofline::Hardware hardware = hardware_of(chosen->mesh);
  for (const Strategy& split : prefill_strategies(chosen->strategy)) {
    DerivedPrefill prefill = derived_prefill(query, chosen->mesh.mesh, chosen->strategy, split, hardware);
    const bool first = best->prefill.strategy.empty();
    if (first || prefill.time() < best->prefill.time()) best->prefill = std::move(prefill);
  }
  return best;
}

std::optional<SentByWay> least_sent(const DerivedQuery& query, const std::vector<GenerationWay>& ways) {
  std::optional<SentByWay> least;
  for (const GenerationWay& way : ways) {
    SentByWay each{named_way(way), {}};
    each.layer = layer_of_decode(query, each.way.mesh.mesh, each.way.strategy);
    if (!least || each.layer.sent < least->layer.sent) least = std::move(each);
  }
  return least;
}

std::optional<Index> least_ranks_for_two_axes(const DerivedQuery& query, Index most) {
  std::optional<Index> least;
  for (Index ranks = most; ranks >= 4; ranks /= 2) {
    const std::vector<GenerationWay> one = one_axis_ways(query.config, ranks);
    const std::vector<GenerationWay> two = two_axes_ways(query.config, ranks);
    if (two.empty() || least_bytes(query, two) >= least_bytes(query, {one.front()})) return least;
    least = ranks;
  }
  return least;
}

}  // namespace shardline
