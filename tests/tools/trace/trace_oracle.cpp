#include "tests/tools/trace/trace_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "tests/tools/trace/task_oracle.h"
#include "tests/tools/trace/trace_events.h"

namespace shardline::trace_oracle {
namespace {

class Judge {
 public:
  Judge(const Json& trace, const Expected& expected) : events_(trace), expected_(expected) {}

  std::vector<std::string> judge() {
    faults_ = events_.faults;
    judge_processes();
    judge_times();
    judge_lanes();
    judge_steps();
    if (!expected_.part) judge_arrows();
    judge_waits();
    judge_memory();
    judge_own_times();
    if (!expected_.tasks.empty()) {
      const std::vector<std::string> found = task_faults(events_, stages_, expected_.tasks);
      faults_.insert(faults_.end(), found.begin(), found.end());
    }
    if (!expected_.part) judge_joint_times();
    return faults_;
  }

 private:
  template <class... Args>
  void complain(fmt::format_string<Args...> text, Args&&... args) {
    faults_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void judge_processes() {
    if (static_cast<int>(events_.processes.size()) != (expected_.part ? 1 : expected_.ranks)) {
      complain("{} processes for {} ranks", events_.processes.size(), expected_.ranks);
    }
    std::set<int> ranks;
    for (const auto& [pid, names] : events_.processes) {
      int rank = -1;
      const bool named =
          names.size() == 1 &&
          (expected_.tasks.empty() ? std::sscanf(names[0].c_str(), "rank %d (", &rank) == 1
                                   : std::sscanf(names[0].c_str(), "stage %d, rank %d (", &stages_[pid], &rank) == 2);
      if (!named || rank != pid - 1) complain("process {} is named {}", pid, names.empty() ? "" : names[0]);
      if (names[0].find('=') == std::string::npos) complain("process {} names no coordinates: {}", pid, names[0]);
      ranks.insert(rank);
    }
    if (ranks.size() != events_.processes.size()) complain("two processes for one rank");
    for (const auto& [lane, slices] : events_.lanes) {
      if (events_.lane_names[lane].size() != 1)
        complain("lane {} of process {} has no name of its own", lane.second, lane.first);
    }
  }

  void judge_times() {
    double first = 1e300;
    for (const auto& [lane, slices] : events_.lanes) {
      for (const Slice& slice : slices) {
        first = std::min(first, slice.begin);
        if (slice.end < slice.begin) complain("a slice lasts {} us", slice.end - slice.begin);
      }
    }
    for (const auto& [pid, samples] : events_.memory) {
      for (const Json* sample : samples) first = std::min(first, sample->at("ts").get<double>());
    }
    if (events_.lanes.empty()) complain("there are no slices");
    if (expected_.part ? first < 0 : first != 0) complain("the first event is at {} us", first);
  }

  void judge_lanes() {
    for (const auto& [lane, slices] : events_.lanes) {
      for (std::size_t i = 1; i < slices.size(); ++i) {
        if (slices[i].begin >= slices[i - 1].end) continue;
        complain("lane {} of process {}: {} begins at {} us before {} ends at {}", events_.lane_names[lane][0],
                 lane.first, slices[i].event->at("name").dump(), slices[i].begin,
                 slices[i - 1].event->at("name").dump(), slices[i - 1].end);
      }
    }
  }

  /// Every rank has the same steps, one after the other. A step contains all its events.
  void judge_steps() {
    std::set<std::vector<int>> numbers;
    std::map<std::pair<int, int>, Slice> steps;
    for (const auto& [lane, slices] : events_.lanes) {
      if (events_.lane_names[lane][0] != "steps") continue;
      std::vector<int> mine;
      for (const Slice& slice : slices) {
        mine.push_back(slice.argument("step"));
        if (mine.size() > 1 && mine.back() != mine[mine.size() - 2] + 1) complain("steps are missing");
        steps[{lane.first, mine.back()}] = slice;
      }
      numbers.insert(mine);
    }
    if (numbers.size() != 1) complain("the ranks have other steps than each other");
    for (const auto& [lane, slices] : events_.lanes) {
      for (const Slice& slice : slices) {
        if (slice.event->at("cat") == "prediction") continue;  // it may be too long
        const auto step = steps.find({lane.first, slice.argument("step").get<int>()});
        if (step == steps.end()) {
          complain("a slice of step {} that is not there", slice.argument("step").dump());
        } else if (slice.begin < step->second.begin - kGrain || slice.end > step->second.end + 2 * kGrain) {
          complain("{} lasts from {} to {} us, its step from {} to {}", slice.event->at("name").dump(), slice.begin,
                   slice.end, step->second.begin, step->second.end);
        }
      }
    }
  }

  /// An arrow goes from a sending slice to the later slice that receives the same message on another rank.
  void judge_arrows() {
    std::size_t messages = 0;
    for (const auto& [lane, slices] : events_.lanes) {
      for (const Slice& slice : slices) messages += slice.event->at("cat") == "message" ? 1 : 0;
    }
    if (messages != events_.tails.size() + events_.heads.size())
      complain("{} messages for {} arrows", messages, events_.tails.size());
    if (events_.tails.size() != events_.heads.size())
      complain("{} tails and {} heads", events_.tails.size(), events_.heads.size());
    if (expected_.arrows && events_.tails.empty()) complain("there are no arrows");
    for (const auto& [id, tails] : events_.tails) {
      const auto heads = events_.heads.find(id);
      if (heads == events_.heads.end() || tails.size() != 1 || heads->second.size() != 1) {
        complain("arrow {} has not one tail and one head", id);
      } else {
        judge_arrow(id, *tails[0], *heads->second[0]);
      }
    }
    if (expected_.both_ways && headings_.size() != 2) complain("messages go {} ways round", headings_.size());
  }

  void judge_arrow(const std::string& id, const Json& tail, const Json& head) {
    const Slice* from = events_.slice_at(tail);
    const Slice* to = events_.slice_at(head);
    if (from == nullptr || to == nullptr) return complain("arrow {} does not go from slice to slice", id);
    if (head.at("bp") != "e") complain("the head of arrow {} is not bound to the slice around it", id);
    const int sender = tail.at("pid");
    const int receiver = head.at("pid");
    for (const Slice* end : {from, to}) {
      const bool fits = end->event->at("cat") == "message" && end->argument("from") == sender - 1 &&
                        end->argument("to") == receiver - 1;
      if (!fits) complain("arrow {} is at a slice of another message: {}", id, end->event->dump());
    }
    for (const char* key : {"bytes", "operation", "step", "strand", "number"}) {
      if (from->argument(key) != to->argument(key)) complain("the ends of arrow {} differ in {}", id, key);
    }
    const double allowed = events_.uncertainty(sender) + events_.uncertainty(receiver) + 2 * kGrain;
    if (to->end < from->begin - allowed) {
      complain("arrow {} goes back in time, from {} to {} us", id, from->begin, to->end);
    }
    judge_heading(id, tail, sender - 1, receiver - 1);
    judge_heading(id, head, sender - 1, receiver - 1);
  }

  /// On a ring of more than two ranks, forward is to the next coordinate of the axis, backward to the previous
  /// one.
  void judge_heading(const std::string& id, const Json& end, int sender, int receiver) {
    const std::string& lane = events_.lane_names[{end.at("pid"), end.at("tid")}][0];
    const bool sends = lane.find(", sent") != std::string::npos;
    const bool receives = lane.find(", received") != std::string::npos;
    if (sends == receives || sends != (end.at("ph") == "s")) complain("arrow {} has an end in lane {}", id, lane);
    const bool forward = lane.find(" forward") != std::string::npos;
    const bool backward = lane.find(" backward") != std::string::npos;
    if (!forward && !backward) return;
    const int ranks = expected_.ranks;
    if (events_.trace.at("otherData").at("mesh").size() != 1 || ranks < 3) return;
    const int next = (sender + (forward ? 1 : ranks - 1)) % ranks;
    if (receiver != next) complain("arrow {} goes from {} to {} in lane {}", id, sender, receiver, lane);
    headings_.insert(forward ? "forward" : "backward");
  }

  /// A waiting rank computes nothing.
  void judge_waits() {
    for (const auto& [pid, names] : events_.processes) {
      std::vector<Slice> busy;
      for (const auto& [lane, slices] : events_.lanes) {
        const std::string& name = events_.lane_names[lane][0];
        if (lane.first == pid && (name == "compute" || name == "waiting")) {
          busy.insert(busy.end(), slices.begin(), slices.end());
        }
        if (name.find("compute (") == 0 || name.find("waiting (") == 0 || name.find("steps (") == 0) {
          complain("process {} does two things at a time: {}", pid, name);
        }
      }
      std::stable_sort(busy.begin(), busy.end(), [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
      for (std::size_t i = 1; i < busy.size(); ++i) {
        if (busy[i].begin < busy[i - 1].end - kGrain)
          complain("process {} computes and waits at {} us", pid, busy[i].begin);
      }
    }
  }

  void judge_memory() {
    for (const auto& [pid, names] : events_.processes) {
      double before = -1;
      double most = 0;
      for (const Json* sample : events_.memory[pid]) {
        if (sample->at("ts") < before) complain("memory of process {} is not in the order of time", pid);
        before = sample->at("ts");
        most = std::max(most, sample->at("args").at("bytes").get<double>());
      }
      if (most <= 0) complain("process {} has no memory", pid);
    }
  }

  /// The time of each occurrence of an operation in a step on one rank; the panels of one occurrence are added.
  using Occurrences = std::map<std::pair<int, std::string>, std::vector<std::pair<double, const Json*>>>;
  Occurrences occurrences(int pid) const {
    std::vector<Slice> all;
    for (const auto& [lane, slices] : events_.lanes) {
      for (const Slice& slice : slices) {
        const std::string category = slice.event->at("cat");
        if (lane.first == pid && (category == "compute" || category == "collective")) all.push_back(slice);
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
    Occurrences found;
    for (const Slice& slice : all) {
      const Json& arguments = slice.event->at("args");
      auto& times = found[{arguments.at("step"), slice.event->at("name")}];
      const bool further = arguments.contains("panel") && arguments.at("panel").get<std::string>().find("1 of ") != 0;
      if (further && !times.empty()) {
        times.back().first += slice.end - slice.begin;
      } else {
        times.emplace_back(slice.end - slice.begin, &arguments);
      }
    }
    return found;
  }

  /// The arguments of a slice: its time is its drawn length, and the ratio refers to this time unless the slice
  /// is a part.
  void judge_own_times() {
    for (const auto& [lane, slices] : events_.lanes) {
      for (const Slice& slice : slices) {
        const Json& arguments = slice.event->at("args");
        const std::string category = slice.event->at("cat");
        if (category != "compute" && category != "collective") continue;
        const double measured = arguments.at("measured_us");
        if (measured != slice.event->at("dur").get<double>()) {
          complain("{} is {} us long and says {}", slice.event->at("name").dump(), slice.event->at("dur").dump(),
                   measured);
        }
        const double predicted = arguments.at("predicted_us");
        const Json& ratio = arguments.at("ratio");
        if (arguments.contains("panel") || predicted == 0) {
          if (!ratio.is_null()) complain("{}: ratio {} of a part", slice.event->at("name").dump(), ratio.dump());
        } else if (std::abs(ratio.get<double>() - measured / predicted) > 0.001) {
          complain("{}: ratio {} of {} to {}", slice.event->at("name").dump(), ratio.dump(), measured, predicted);
        }
      }
    }
  }

  /// The slowest rank's time of each occurrence equals the slice's argument. Their sums equal those of the
  /// record.
  void judge_joint_times() {
    std::map<int, Occurrences> by_stage;
    for (const auto& [pid, names] : events_.processes) {
      for (const auto& [key, times] : occurrences(pid)) slower(by_stage[stages_[pid]][key], times, key.second);
    }
    for (const auto& [stage, all] : by_stage) judge_said(all);
    Occurrences slowest;
    for (const auto& [stage, all] : by_stage) {
      for (const auto& [key, times] : all) slower(slowest[key], times, key.second);
    }
    std::map<std::pair<std::string, std::string>, double> sums;
    LineTimes of_lines;
    int last = 0;
    for (const auto& [key, times] : slowest) last = std::max(last, key.first);
    for (const auto& [key, times] : slowest) {
      for (const auto& [time, arguments] : times) {
        if (key.first > last - expected_.steps_measured) {
          const std::pair<std::string, std::string> kind{arguments->at("kind"), arguments->value("axis", "")};
          sums[kind] += time;
          of_lines[{kind, key.second}].push_back(time);
        }
      }
    }
    if (!expected_.record.empty()) compare(sums, of_lines);
  }

  using Times = std::vector<std::pair<double, const Json*>>;
  /// Each occurrence takes as long as on the slowest rank.
  void slower(Times& all, const Times& times, const std::string& name) {
    if (all.empty()) all = times;
    if (all.size() != times.size()) {
      return complain("{} happens {} times on one rank, {} on another", name, all.size(), times.size());
    }
    for (std::size_t k = 0; k < times.size(); ++k) all[k].first = std::max(all[k].first, times[k].first);
  }

  void judge_said(const Occurrences& slowest) {
    for (const auto& [key, times] : slowest) {
      for (const auto& [time, arguments] : times) {
        const double said = arguments->at("all_ranks_us");
        const double grain = 2 * kGrain * (arguments->contains("panel") ? 1000 : 1);
        if (std::abs(said - time) > grain) complain("{} took {} us and says {}", key.second, time, said);
      }
    }
  }

  /// Times of each line of a program, by kind and axis, and its text.
  using LineTimes = std::map<std::pair<std::pair<std::string, std::string>, std::string>, std::vector<double>>;

  /// The sums of a record by kind; of matmul, whose record has a line for each step, the medians over its runs.
  void compare(std::map<std::pair<std::string, std::string>, double> sums, const LineTimes& of_lines) {
    const Json record = Json::parse(std::ifstream(expected_.record));
    std::map<std::pair<std::string, std::string>, double> recorded;
    bool by_line = false;
    for (const Json& operation : record.at("operations")) {
      by_line = by_line || !operation.contains("count");
      recorded[{operation.at("kind"), operation.at("axis")}] += 1e6 * operation.at("measured_s").get<double>();
    }
    if (by_line) {
      for (auto& [kind, sum] : sums) sum = 0;
      for (auto [line, times] : of_lines) {
        std::sort(times.begin(), times.end());
        sums[line.first] += (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
      }
    }
    for (const auto& [kind, time] : recorded) {
      const auto sum = sums.find(kind);
      const double found = sum == sums.end() ? 0 : sum->second;
      // Of a step on several stages the record takes the stage that is slowest over all runs, the sum here the slowest
      // in each run.
      const double share = expected_.tasks.empty() ? 0.005 : 0.05;
      if (std::abs(found - time) > share * time + 5) {
        complain("{} {}: {} us in the trace, {} in the record", kind.first, kind.second, found, time);
      }
    }
    if (sums.size() != recorded.size())
      complain("{} kinds in the trace, {} in the record", sums.size(), recorded.size());
  }

  TraceEvents events_;
  const Expected& expected_;
  std::vector<std::string> faults_;
  std::set<std::string> headings_;
  std::map<int, int> stages_;  ///< by process
};

}  // namespace

std::vector<std::string> faults(const std::string& path, const Expected& expected) {
  try {
    const Json trace = Json::parse(std::ifstream(path));
    return Judge(trace, expected).judge();
  } catch (const Json::exception& error) {
    return {error.what()};
  }
}

}  // namespace shardline::trace_oracle
