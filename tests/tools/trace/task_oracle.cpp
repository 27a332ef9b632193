#include "tests/tools/trace/task_oracle.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace shardline::trace_oracle {
namespace {

class TaskJudge {
 public:
  TaskJudge(const TraceEvents& events, const std::map<int, int>& stages, const std::vector<std::string>& expected)
      : events_(events), stages_(stages), expected_(expected) {}

  /// Each stage does each of its tasks once in a step, in order and nothing else; the prediction beside it says so too.
  std::vector<std::string> judge() {
    using Step = std::pair<int, int>;  // of a process
    std::map<Step, std::map<double, std::string>> measured;
    std::map<Step, std::map<double, std::string>> predicted;
    for (const auto& [lane, slices] : events_.lanes) {
      for (const Slice& slice : slices) {
        const std::string category = slice.event->at("cat");
        if (category != "task" && category != "prediction") continue;
        const std::string name = slice.argument("task");
        if (slice.event->at("name") != name) complain("a slice of another task than {}", name);
        const bool further =
            slice.event->at("args").contains("part") && slice.argument("part").get<std::string>().find("1 of ") != 0;
        if (!further)
          (category == "task" ? measured : predicted)[{lane.first, slice.argument("step")}][slice.begin] = name;
        if (category == "task") tasks_[{lane.first, slice.argument("step"), name}].push_back(slice);
      }
    }
    std::size_t steps = 0;
    for (const auto& [lane, slices] : events_.lanes)
      steps += events_.lane_names.at(lane)[0] == "steps" ? slices.size() : 0;
    for (const auto* each : {&measured, &predicted}) {
      if (each->size() != steps) complain("{} steps with tasks of {}", each->size(), steps);
      for (const auto& [step, tasks] : *each) {
        std::string text;
        for (const auto& [begin, name] : tasks) text += (text.empty() ? "" : " ") + name;
        const std::string& expected = expected_.at(static_cast<std::size_t>(stages_.at(step.first)));
        if (text != expected) complain("process {} has tasks {}, not {}", step.first, text, expected);
      }
    }
    judge_order_of_stages();
    judge_steps_of_tasks();
    return faults_;
  }

 private:
  template <class... Args>
  void complain(fmt::format_string<Args...> text, Args&&... args) {
    faults_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  /// A message brings what a task made: F to the next stage, B and I to the one before. There the task of the same name
  /// ends its wait after that: its last part needs what arrives.
  void judge_order_of_stages() {
    std::size_t judged = 0;
    for (const auto& [id, tails] : events_.tails) {
      const auto heads = events_.heads.find(id);
      const Slice* sent = events_.slice_at(*tails[0]);
      if (heads == events_.heads.end() || sent == nullptr) continue;
      const std::string operation = sent->argument("operation");
      const std::string name = operation.substr(0, operation.find(','));
      const int from = tails[0]->at("pid");
      const int to = heads->second[0]->at("pid");
      const auto before = tasks_.find({from, sent->argument("step"), name});
      const auto after = tasks_.find({to, sent->argument("step"), name});
      if (before == tasks_.end() || after == tasks_.end()) continue;
      ++judged;
      if (stages_.at(to) - stages_.at(from) != (name[0] == 'F' ? 1 : -1)) complain("{} goes the wrong way", operation);
      const double allowed = events_.uncertainty(from) + events_.uncertainty(to) + 2 * kGrain;
      if (after->second.back().begin < before->second.back().end - allowed) {
        complain("{} of process {} goes on at {} us, on process {} it ends at {} us", name, to,
                 after->second.back().begin, from, before->second.back().end);
      }
    }
    if (judged == 0) complain("no task of one stage follows that of another");
  }

  /// What computes lies within its task, and names its stage and its micro-batch.
  void judge_steps_of_tasks() {
    std::size_t outside = 0;
    for (const auto& [lane, slices] : events_.lanes) {
      for (const Slice& slice : slices) {
        if (slice.event->at("cat") != "compute") continue;
        if (slice.argument("stage") != stages_.at(lane.first)) complain("process {} has another stage", lane.first);
        if (!slice.event->at("args").contains("task")) {
          ++outside;
          continue;
        }
        const std::string name = slice.argument("task");
        const auto task = tasks_.find({lane.first, slice.argument("step"), name});
        if (task == tasks_.end() || slice.begin < task->second.front().begin || slice.end > task->second.back().end) {
          complain("{} of {} is outside of it", slice.event->at("name").dump(), name);
        }
        if (std::to_string(slice.argument("micro_batch").get<int>()) != name.substr(1)) complain("{} of another", name);
      }
    }
    if (outside == 0) complain("no update");
  }

  const TraceEvents& events_;
  const std::map<int, int>& stages_;
  const std::vector<std::string>& expected_;
  std::map<std::tuple<int, int, std::string>, std::vector<Slice>> tasks_;  ///< the parts of a process's task in a step
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> task_faults(const TraceEvents& events, const std::map<int, int>& stages,
                                     const std::vector<std::string>& expected) {
  return TaskJudge(events, stages, expected).judge();
}

}  // namespace shardline::trace_oracle
