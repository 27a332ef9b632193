#include "tools/trace/diagnosis.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <numeric>

#include "tools/output/text.h"
#include "tools/trace/busy.h"

namespace shardline::tools {
namespace {

constexpr double kNear = 0.1;     ///< |ratio - 1| up to this counts as predicted
constexpr double kUneven = 1.25;  ///< slowest over fastest rank; above this, ranks are not alike
constexpr const char* kWaitedForACore = "ranks waited for a core that other work used";
constexpr double kBeyond = 1.02;  ///< times a measured limit; above this it cannot be noise

std::string name_of(const KindSummary& kind) {
  return kind.axis.empty() ? kind.kind : kind.kind + " over " + kind.axis;
}

bool communicates(const KindSummary& kind) { return kind.wire_bytes.value > 0; }

Seconds all_measured(const std::vector<KindSummary>& kinds) {
  return std::accumulate(kinds.begin(), kinds.end(), Seconds(),
                         [](Seconds sum, const KindSummary& kind) { return sum + kind.measured; });
}

/// Predicted seconds of all operations, by limiter.
std::map<std::string, Seconds> by_limiter(const std::vector<KindSummary>& kinds) {
  std::map<std::string, Seconds> sums;
  for (const KindSummary& kind : kinds) sums[kind.limiter] += kind.predicted;
  return sums;
}

/// The operation with the longest prediction. Null if there are no operations.
const KindSummary* longest(const std::vector<KindSummary>& kinds) {
  const auto most = std::max_element(
      kinds.begin(), kinds.end(), [](const KindSummary& a, const KindSummary& b) { return a.predicted < b.predicted; });
  return most == kinds.end() ? nullptr : &*most;
}

/// The operation farthest from its prediction; null if there is none. No move between stages: its time includes the
/// wait for the other stage.
const KindSummary* worst_of(const std::vector<KindSummary>& kinds) {
  const auto worst = std::find_if(kinds.begin(), kinds.end(), [](const KindSummary& kind) {
    return kind.kind != "send" && kind.kind != "receive";
  });
  return worst == kinds.end() ? nullptr : &*worst;
}

/// How much longer the slowest rank computes than the fastest, in words. Empty if the ranks are
/// alike in `kind`. On a busy machine the reason is other work.
std::string slow_rank(const KindSummary& kind, const Comparison& comparison, bool busy) {
  if (comparison.stages > 1) return "";  // their ranks do different work
  const double uneven = kind.fastest.value > 0 ? kind.slowest / kind.fastest : 1;
  if (uneven <= kUneven) return "";
  return fmt::format("rank {} takes {:.2f} times as long as the fastest rank for {}: {}", kind.slowest_rank, uneven,
                     name_of(kind), busy ? "other work used its core" : "its core is shared, slower or clocked down");
}

/// The computation with the most time.
const KindSummary* main_computation(const std::vector<KindSummary>& kinds) {
  const KindSummary* most = nullptr;
  for (const KindSummary& kind : kinds) {
    if (!communicates(kind) && (most == nullptr || kind.measured > most->measured)) most = &kind;
  }
  return most;
}

/// The likely reason for a slow computation.
std::string slow_computation(const KindSummary& kind, const Comparison& comparison, bool busy) {
  const std::vector<std::string>& warnings = comparison.warnings;
  if (const std::string rank = slow_rank(kind, comparison, busy); !rank.empty()) return rank;
  if (busy) return kWaitedForACore;
  if (!warnings.empty()) return fmt::format("every rank is slow alike, and {}", fmt::join(warnings, ", and "));
  return "every rank is slow alike: the cores are shared with other work, clocked down, or fewer threads compute than "
         "when they were measured";
}

std::string slow_communication(const KindSummary& kind, const roofline::Hardware& hardware) {
  const BytesPerSecond reached = kind.wire_bytes / kind.measured;
  const BytesPerSecond expected = kind.wire_bytes / kind.predicted;
  const std::string what =
      kind.limiter == "latency"
          ? fmt::format("a call takes {} instead of {}", to_string(kind.measured / kind.count),
                        to_string(kind.predicted / kind.count))
          : fmt::format("it moves {} where {} were expected", to_string(reached), to_string(expected));
  const auto link = hardware.links.find(kind.axis);
  const bool shared = link != hardware.links.end() && !link->second.frees_cores;
  return fmt::format("{}: {}", what,
                     shared ? "the ranks' memory is slower than measured, or they wait for each other"
                            : "the link of axis " + kind.axis + " is slower or busier than when it was measured");
}

std::string cause(const KindSummary& kind, const Comparison& comparison, const roofline::Hardware& hardware) {
  if (kind.ratio() < 1) return "the prediction is too high";
  const bool busy = !busy_cause(comparison.busiest, kind.ratio()).empty();
  if (!communicates(kind)) return slow_computation(kind, comparison, busy);
  // Ranks that wait for a slow rank make every collective look slow.
  const KindSummary* computation = main_computation(comparison.kinds);
  const std::string rank = computation == nullptr ? "" : slow_rank(*computation, comparison, busy);
  if (!rank.empty()) return rank + ", and the others wait for it";
  return busy ? kWaitedForACore : slow_communication(kind, hardware);
}

std::string what_binds(const Comparison& comparison) {
  const std::map<std::string, Seconds> shares = by_limiter(comparison.kinds);
  const auto most =
      std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const KindSummary* first = longest(comparison.kinds);
  if (first == nullptr) return "Nothing was run.";
  Seconds all;
  for (const auto& [limiter, time] : shares) all += time;
  return fmt::format("By the prediction {} binds {:.0f}% of the time; {} alone takes {:.0f}% of it.", most->first,
                     100 * (most->second / all), name_of(*first), 100 * (first->predicted / all));
}

std::string what_is_off(const Comparison& comparison, const roofline::Hardware& hardware) {
  const KindSummary* worst = worst_of(comparison.kinds);
  if (worst == nullptr) return "";
  const double whole = comparison.measured / comparison.predicted;
  std::string text = fmt::format(" The whole takes {:.2f} times its prediction.", whole);
  if (worst->ratio() < 1 + kNear) return text + " No operation of weight takes much longer than predicted.";
  return text + fmt::format(" Farthest from its prediction is {}, {:.2f} times it and {:.0f}% of the time: {}.",
                            name_of(*worst), worst->ratio(), 100 * (worst->measured / all_measured(comparison.kinds)),
                            cause(*worst, comparison, hardware));
}

/// Other work on the machine, if something takes longer than predicted.
std::string what_disturbed(const Comparison& comparison) {
  double ratio = comparison.measured / comparison.predicted;
  const KindSummary* worst = worst_of(comparison.kinds);
  if (worst != nullptr) ratio = std::max(ratio, worst->ratio());
  const std::string cause = busy_cause(comparison.busiest, ratio);
  return cause.empty() ? "" : sentence(cause) + " ";
}

/// The fixed costs of all operations, independent of their sizes.
Seconds fixed_costs(const Comparison& comparison, const roofline::Hardware& hardware) {
  Seconds latency;  // of the slowest link
  for (const auto& [axis, link] : hardware.links) {
    latency = std::max(latency, link.shared ? link.shared->latency : link.latency);
  }
  Seconds fixed;
  for (const KindSummary& kind : comparison.kinds) {
    fixed += kind.count * (communicates(kind) ? hardware.overhead + latency : hardware.overhead);
  }
  return fixed;
}

/// A sentence, if one rank would compute all products in less time than the fixed costs. Else
/// empty.
std::string too_small(const Comparison& comparison, const roofline::Hardware& hardware) {
  Flops flops;
  for (const KindSummary& kind : comparison.kinds) {
    if (kind.kind == "einsum") flops += kind.flops * static_cast<double>(comparison.ranks);
  }
  const double share = 1.0 / comparison.runs;  // of all stages together
  const Seconds alone = flops / hardware.matmul * share;
  const Seconds fixed = fixed_costs(comparison, hardware) * share / comparison.stages;
  if (flops.value == 0 || alone >= fixed) return "";
  return fmt::format(
      " The work is too small to be worth distributing: one rank would compute its {} in {} at the best rate of "
      "products, and starting the operations alone takes {}.",
      to_string(flops * share), to_string(alone), to_string(fixed));
}

/// What would speed up the most expensive part.
std::string what_would_help(const Comparison& comparison, const roofline::Hardware& hardware) {
  if (const std::string text = too_small(comparison, hardware); !text.empty()) return text;
  Seconds exposed;
  Seconds products;
  Flops flops;
  for (const KindSummary& kind : comparison.kinds) {
    if (communicates(kind)) exposed += std::min(kind.exposed, kind.measured);
    if (kind.kind == "einsum") products += kind.measured, flops += kind.flops;
  }
  const Seconds all = comparison.measured * (comparison.runs * comparison.stages);
  const double moving = std::clamp(exposed / all, 0.0, 1.0);
  const std::string communication =
      moving < 0.005 ? std::string() : fmt::format("; without communication it would take {:.0f}% less", 100 * moving);
  if (products.value > 0 && products / all > 0.5) {
    return fmt::format(
        " Products are {:.0f}% of the time, at {:.0f}% of the best rate of products: more ranks, or larger blocks on "
        "each,"
        " would make it faster{}.",
        100 * (products / all), 100 * (flops / products / hardware.matmul), communication);
  }
  if (std::all_of(comparison.kinds.begin(), comparison.kinds.end(), communicates)) {
    return comparison.kinds.empty() ? "" : " Nothing is computed: only a faster link would make it faster.";
  }
  if (moving > 0.3) {
    return fmt::format(
        " Communication is {:.0f}% of the time: a larger batch on each rank, a strategy that moves less, or a faster "
        "link"
        " would make it faster.",
        100 * moving);
  }
  return fmt::format(" No one part dominates{}.", communication);
}

}  // namespace

std::string diagnosis(const Comparison& comparison, const roofline::Hardware& hardware) {
  return what_disturbed(comparison) + what_binds(comparison) + what_is_off(comparison, hardware) +
         what_would_help(comparison, hardware) + "\n";
}

std::string impossible_rates(const Comparison& comparison, const roofline::Hardware& hardware) {
  std::string text;
  for (const KindSummary& kind : comparison.kinds) {
    if (kind.kind != "einsum" || kind.measured.value == 0) continue;
    const double share = (kind.flops / kind.measured) / hardware.matmul;
    if (share <= kBeyond) continue;
    text += fmt::format("{} runs at {}, {:.0f}% of the best rate that was measured: one of the two is wrong\n",
                        name_of(kind), to_string(kind.flops / kind.measured), 100 * share);
  }
  return text;
}

Json comparison_json(const Comparison& comparison, const roofline::Hardware& hardware) {
  const KindSummary* worst = worst_of(comparison.kinds);
  Json json{{"ratio", comparison.measured / comparison.predicted},
            {"diagnosis", diagnosis(comparison, hardware)},
            {"impossible", impossible_rates(comparison, hardware)}};
  if (worst != nullptr) json["worst"] = {{"text", name_of(*worst)}, {"ratio", worst->ratio()}};
  return json;
}

}  // namespace shardline::tools
