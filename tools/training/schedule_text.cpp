#include "tools/training/schedule_text.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "program/ir/print.h"
#include "program/timetable/picture.h"

namespace shardline::tools {
namespace {

std::string heading(const PipelinePlan& pipeline, const Cut& cut, const ChunkTask& task) {
  const StageLayers& layers = cut.layers();
  std::vector<std::size_t> own;
  for (std::size_t layer = 0; layer < layers.chunk_of.size(); ++layer) {
    if (layers.chunk_of[layer] == task.chunk) own.push_back(layer);
  }
  return fmt::format("\n{} of {}={}, layers {}:\n", to_string(pipeline.timetable, Task{task.kind, task.chunk, 0}),
                     pipeline.axis, layers.place[static_cast<std::size_t>(task.chunk)],
                     own.empty() ? "none" : fmt::format("{}", fmt::join(own, " ")));
}

/// The steps of a task, and the moves after it. `micro` is the program of the cut.
std::string task_text(RankProgram& micro, const PipelinePlan& pipeline, const Cut& cut, const ChunkTask& task) {
  std::string text = heading(pipeline, cut, task);
  for (const int step : cut.steps(task)) {
    text += to_string(micro, micro.steps[static_cast<std::size_t>(step)]) + "\n";
  }
  for (const Shipped& each : cut.ships(task)) {
    const int from = cut.layers().place[static_cast<std::size_t>(task.chunk)];
    micro.place = StagePlace{pipeline.axis, from, cut.stages()};
    Step send;
    send.kind = StepKind::send;
    send.operands = {each.version};
    send.peer = each.to;
    text += to_string(micro, send) + "\n";
  }
  return text;
}

}  // namespace

std::string schedule_text(const PipelinePlan& pipeline, const roofline::Hardware& hardware, const std::string& source) {
  const Cut cut = pipeline.cut();
  const Timing timing = pipeline.timing(hardware);
  std::string text = picture(pipeline.timetable, timing, {.axis = pipeline.axis});
  text += fmt::format("by {} the tasks take {}, and the stages are idle for {:.1f}% of it\n", source,
                      to_string(timing.makespan), 100 * timing.bubble());
  RankProgram micro = pipeline.micro->program();
  for (int chunk = 0; chunk < pipeline.timetable.chunks(); ++chunk) {
    for (const TaskKind kind : pipeline.timetable.kinds) text += task_text(micro, pipeline, cut, {kind, chunk});
  }
  return text + "\n";
}

}  // namespace shardline::tools
