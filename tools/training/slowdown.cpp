#include "tools/training/slowdown.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "runtime/base/statistics.h"
#include "tools/output/text.h"

namespace shardline::tools {

StepTimes SlowdownWatch::medians(std::size_t begin, std::size_t end) const {
  std::vector<Seconds> all, work, data;
  for (std::size_t i = begin; i < end; ++i) {
    all.push_back(steps_[i].all);
    work.push_back(steps_[i].work);
    data.push_back(steps_[i].data);
  }
  return {.all = median(std::move(all)), .work = median(std::move(work)), .data = median(std::move(data))};
}

/// One after the last step that tells the usual time of the level; one more than there are if it is not known yet.
std::size_t SlowdownWatch::end_of_usual() const {
  Seconds time{};
  std::size_t end = level_;
  while (end < steps_.size() && (end < level_ + kUsual || time < kLeastTime)) time += steps_[end++].all;
  return end < level_ + kUsual || time < kLeastTime ? steps_.size() + 1 : end;
}

std::size_t SlowdownWatch::begin_of_last() const {
  Seconds time{};
  std::size_t begin = steps_.size();
  while (begin > level_ && (begin + kLast > steps_.size() || time < kLeastTime)) time += steps_[--begin].all;
  return begin;
}

std::optional<Slowdown> SlowdownWatch::add(const StepTimes& step) {
  steps_.push_back(step);
  const std::size_t usual = end_of_usual(), last = begin_of_last();
  if (last < usual) return std::nullopt;
  const StepTimes before = medians(level_, usual), now = medians(last, steps_.size());
  const double ratio = now.all / before.all;
  if (ratio < kSlower && ratio > 1 / kSlower) return std::nullopt;
  // The new level begins where the steps pass the middle of the two times. The last steps must begin and end in it.
  const Seconds middle(std::sqrt(before.all.value * now.all.value));
  const auto belongs = [&](std::size_t i) { return (steps_[i].all > middle) == (ratio > 1); };
  if (!belongs(last) || !belongs(steps_.size() - 1)) return std::nullopt;
  std::size_t since = last;
  while (since > usual && belongs(since - 1)) --since;
  level_ = since;
  if (ratio < 1) return std::nullopt;
  return Slowdown{.since = static_cast<Index>(since), .before = before, .now = now};
}

std::vector<RankSlowdown> slowdown_of_ranks(const Job& job, const Slowdown& own) {
  const auto numbers = [](const StepTimes& t) { return Json{t.all.value, t.work.value, t.data.value}; };
  const auto times = [](const Json& t) { return StepTimes{Seconds(t.at(0)), Seconds(t.at(1)), Seconds(t.at(2))}; };
  const Json mine{{"host", host_name()}, {"before", numbers(own.before)}, {"now", numbers(own.now)}};
  std::vector<RankSlowdown> ranks;
  for (const std::string& text : job.world().all_gather_bytes(mine.dump())) {
    const Json of = Json::parse(text);
    ranks.push_back({of.at("host"), times(of.at("before")), times(of.at("now"))});
  }
  return ranks;
}

namespace {

/// "rank 1 (node-a): its own work takes 40 ms, 10 ms before".
std::string named_rank(std::size_t rank, const RankSlowdown& of, const char* what, Seconds before, Seconds now) {
  return fmt::format("rank {} ({}) {} {}, {} before", rank, of.host, what, to_string(now), to_string(before));
}

}  // namespace

std::string slowdown_text(Index step, const std::vector<RankSlowdown>& ranks) {
  const Seconds grown = ranks.front().now.all - ranks.front().before.all;
  constexpr double kPart = 1.0 / 3;
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> named;
  std::size_t slow = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankSlowdown& of = ranks[rank];
    const bool works = of.now.work - of.before.work >= kPart * grown;
    const bool reads = of.now.data - of.before.data >= kPart * grown;
    slow += works || reads ? 1 : 0;
    if (named.size() == kMostNamed) continue;
    if (works) named.push_back(named_rank(rank, of, "works", of.before.work, of.now.work));
    if (reads) named.push_back(named_rank(rank, of, "reads samples for", of.before.data, of.now.data));
  }
  const std::string where =
      slow == 0 ? "no rank works longer: the time goes to communication, or to other work on the cores"
      : slow == ranks.size() && ranks.size() > 1 ? fmt::format("all ranks are slower: {}", named.front())
                                                 : listed(named);
  return fmt::format("steps are slower since step {}: {}, {} before; {}{}", step, to_string(ranks.front().now.all),
                     to_string(ranks.front().before.all), where,
                     slow > 0 && slow < ranks.size() ? "; the others wait" : "");
}

}  // namespace shardline::tools
