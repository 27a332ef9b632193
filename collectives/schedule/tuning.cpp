#include "collectives/schedule/tuning.h"

#include <algorithm>

namespace shardline::collectives {
namespace {

bool possible(Algorithm algorithm, const Question& question) {
  if (algorithm == Algorithm::direct && !question.direct) return false;
  if (!question.reduces_bf16 || question.wire == Wire::automatic) return true;
  const bool exchanges = algorithm == Algorithm::direct || algorithm == Algorithm::pairwise;
  return exchanges == (question.wire == Wire::exchange);
}

Algorithm uniform_algorithm(const Question& question) {
  const bool exchanges = question.wire == Wire::automatic ? question.link == LinkKind::node  //
                                                          : question.wire == Wire::exchange;
  if (!exchanges) return Algorithm::doubling;
  return question.direct ? Algorithm::direct : Algorithm::pairwise;
}

}  // namespace

std::string_view name_of(LinkKind link) { return link == LinkKind::node ? "node" : "network"; }

Tuning Tuning::built_in() {
  Tuning tuning;
  const auto rule = [&](LinkKind link, Kind kind, Index most_ranks, Index most_bytes, Algorithm algorithm) {
    tuning.rules.push_back({kind, link, most_ranks, most_bytes, algorithm});
  };
  constexpr Index kSmall = Index{16} << 10;
  for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all, Kind::shift}) {
    // One pass over memory for every size.
    rule(LinkKind::node, kind, Tuning::kAny, Tuning::kAny, Algorithm::direct);
    if (kind == Kind::shift) continue;
    // Pairwise adds in the order of direct. So the result on a node does not depend on whether it has an arena.
    if (kind == Kind::reduce_scatter || kind == Kind::all_reduce) {
      rule(LinkKind::node, kind, Tuning::kAny, Tuning::kAny, Algorithm::pairwise);
    }
    for (const LinkKind link : {LinkKind::node, LinkKind::network}) {
      // Between two ranks every algorithm takes one round, except for all_reduce.
      if (kind != Kind::all_reduce) rule(link, kind, 2, Tuning::kAny, Algorithm::pairwise);
      rule(link, kind, Tuning::kAny, kSmall, Algorithm::doubling);
      // A forwarded block crosses a switch more than once.
      if (kind == Kind::all_to_all) rule(link, kind, Tuning::kAny, Tuning::kAny, Algorithm::pairwise);
    }
    rule(LinkKind::node, kind, Tuning::kAny, Tuning::kAny, Algorithm::ring);
    rule(LinkKind::network, kind, Tuning::kAny, Tuning::kAny, Algorithm::bidirectional);
  }
  return tuning;
}

Algorithm choose(const Tuning& tuning, const Question& question) {
  if (question.uniform) return uniform_algorithm(question);
  for (const Tuning::Rule& rule : tuning.rules) {
    const bool holds = rule.kind == question.kind && rule.link == question.link && question.ranks <= rule.most_ranks &&
                       question.bytes <= rule.most_bytes;
    if (holds && possible(rule.algorithm, question)) return rule.algorithm;
  }
  return question.reduces_bf16 && question.wire == Wire::exchange ? Algorithm::pairwise : Algorithm::ring;
}

}  // namespace shardline::collectives
