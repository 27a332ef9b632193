#include "tools/training/slowdown.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "runtime/base/statistics.h"
#include "tools/output/text.h"

namespace shardline::tools {

namespace {

WatchedTimes medians(const std::vector<WatchedTimes>& times) {
  std::vector<Seconds> all, work, data;
  for (const WatchedTimes& each : times) {
    all.push_back(each.all);
    work.push_back(each.work);
    data.push_back(each.data);
  }
  return {.all = median(std::move(all)), .work = median(std::move(work)), .data = median(std::move(data))};
}

}  // namespace

void SlowdownWatch::keep(const Block& block) {
  constexpr std::size_t kMostRecent = 64;
  if (before_) {
    recent_.push_back(block);
    if (recent_.size() > kMostRecent) recent_.pop_front();
    return;
  }
  usual_.push_back(block.mean);
  if (usual_.size() == kUsual) before_ = medians(usual_);
}

std::optional<Slowdown> SlowdownWatch::compare() {
  if (recent_.size() < kLast) return std::nullopt;
  std::vector<WatchedTimes> last;
  for (auto block = recent_.end() - kLast; block != recent_.end(); ++block) last.push_back(block->mean);
  const WatchedTimes before = *before_, now = medians(last);
  const double ratio = now.all / before.all;
  if (ratio < kSlower && ratio > 1 / kSlower) return std::nullopt;
  // The new level begins where the steps pass the middle of the two times. The last blocks must begin and end in it.
  const Seconds middle(std::sqrt(before.all.value * now.all.value));
  const auto belongs = [&](const Block& block) { return (block.mean.all > middle) == (ratio > 1); };
  std::size_t since = recent_.size() - kLast;
  if (!belongs(recent_[since]) || !belongs(recent_.back())) return std::nullopt;
  while (since > 0 && belongs(recent_[since - 1])) --since;
  const std::vector<Block> level(recent_.begin() + static_cast<std::ptrdiff_t>(since), recent_.end());
  usual_.clear();
  before_.reset();
  recent_.clear();
  for (const Block& block : level) keep(block);
  if (ratio < 1) return std::nullopt;
  return Slowdown{.since = level.front().first, .before = before, .now = now};
}

std::optional<Slowdown> SlowdownWatch::add(const WatchedTimes& step) {
  if (open_.steps == 0) open_ = {.first = steps_, .steps = 0, .mean = {}};
  open_.mean.all += step.all;
  open_.mean.work += step.work;
  open_.mean.data += step.data;
  ++open_.steps;
  ++steps_;
  if (open_.mean.all < kBlockTime) return std::nullopt;
  const double share = 1.0 / static_cast<double>(open_.steps);
  const WatchedTimes& sum = open_.mean;
  keep({open_.first, open_.steps, {.all = sum.all * share, .work = sum.work * share, .data = sum.data * share}});
  open_.steps = 0;
  return compare();
}

std::vector<RankSlowdown> slowdown_of_ranks(const Job& job, const Slowdown& own) {
  const auto numbers = [](const WatchedTimes& t) { return Json{t.all.value, t.work.value, t.data.value}; };
  const auto times = [](const Json& t) { return WatchedTimes{Seconds(t.at(0)), Seconds(t.at(1)), Seconds(t.at(2))}; };
  const Json mine{{"host", host_name()}, {"before", numbers(own.before)}, {"now", numbers(own.now)}};
  std::vector<RankSlowdown> ranks;
  for (const std::string& text : job.world().all_gather_bytes(mine.dump())) {
    const Json of = Json::parse(text);
    ranks.push_back({of.at("host"), times(of.at("before")), times(of.at("now"))});
  }
  return ranks;
}

namespace {

/// The ranks that a sentence names, and the number of those that it should name.
struct NamedRanks {
  std::vector<std::string> texts;
  std::size_t slow = 0;
};

/// "rank 1 (node-a) works 40 ms, 10 ms before".
std::string named_rank(std::size_t rank, const RankSlowdown& of, const char* what, Seconds before, Seconds now) {
  return fmt::format("rank {} ({}) {} {}, {} before", rank, of.host, what, to_string(now), to_string(before));
}

NamedRanks slow_ranks(const std::vector<RankSlowdown>& ranks) {
  constexpr double kPart = 1.0 / 3;
  constexpr std::size_t kMostNamed = 4;
  const Seconds grown = ranks.front().now.all - ranks.front().before.all;
  NamedRanks named;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankSlowdown& of = ranks[rank];
    const bool works = of.now.work - of.before.work >= kPart * grown;
    const bool reads = of.now.data - of.before.data >= kPart * grown;
    if (!works && !reads) continue;
    if (++named.slow > kMostNamed) continue;
    named.texts.push_back(works ? named_rank(rank, of, "works", of.before.work, of.now.work)
                                : named_rank(rank, of, "reads samples for", of.before.data, of.now.data));
  }
  if (named.slow > kMostNamed) named.texts.push_back(fmt::format("{} more", named.slow - kMostNamed));
  return named;
}

}  // namespace

std::string slowdown_text(Index step, const std::vector<RankSlowdown>& ranks) {
  const auto [named, slow] = slow_ranks(ranks);
  const std::string text = fmt::format("steps are slower since step {}: {}, {} before; ", step,
                                       to_string(ranks.front().now.all), to_string(ranks.front().before.all));
  if (slow == 0) return text + "no rank works longer: the time goes to communication, or to other work on the cores";
  if (slow == ranks.size() && slow > 1) return fmt::format("{}all ranks are slower: {}", text, named.front());
  return text + listed(named) + (slow < ranks.size() ? "; the others wait" : "");
}

}  // namespace shardline::tools
