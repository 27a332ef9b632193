#include "tools/training/stage_section.h"

#include <fmt/ranges.h>

#include "tools/report/timetable_plot.h"

namespace shardline::tools {
namespace {

std::vector<TimetableBox> boxes_of(const PipelineRecord& pipeline, const TaskTimes& tasks, std::size_t stage) {
  std::vector<TimetableBox> boxes;
  for (const Task& task : pipeline.timetable.orders[stage]) {
    const TimeRange& range = tasks.ranges[number_of(pipeline.timetable, task)];
    boxes.push_back({to_string(task.kind)[0], std::to_string(task.micro_batch), to_string(pipeline.timetable, task),
                     range.begin, range.end});
  }
  return boxes;
}

Figure timetable_figure(const PipelineRecord& pipeline) {
  std::vector<StageRows> rows;
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    rows.push_back({boxes_of(pipeline, pipeline.measured, stage), boxes_of(pipeline, pipeline.predicted, stage)});
  }
  return {timetable_svg(rows),
          fmt::format("Timetable {} in step {}, the one of median time, on the first rank of each stage, without the "
                      "update. Numbers are micro-batches. A measured task is drawn before its end, as long as it "
                      "kept the rank.",
                      pipeline.name, pipeline.shown.number)};
}

std::string cell_of(Seconds part, const StepParts& of) {
  return fmt::format("{} ({:.1f}%)", to_string(part), 100 * (part / of.step()));
}

}  // namespace

Section stage_section(const PipelineRecord& pipeline) {
  Table parts{{"", "computing", "start and end", "uneven stages", "moves", "step"}, {}, 1};
  for (const auto& [name, each] : rows_of_parts(pipeline)) {
    parts.rows.push_back({name, cell_of(each.computing, each), cell_of(each.start_and_end, each),
                          cell_of(each.uneven, each), cell_of(each.moves, each), to_string(each.step())});
  }
  Table stages{{"stage", "layers", "arrays at most", "predicted"}, {}, 2};
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    const StageRecord& each = pipeline.stages[stage];
    stages.rows.push_back({std::to_string(stage), fmt::format("{}", fmt::join(each.layers, " ")),
                           to_string(each.measured_memory), to_string(each.predicted_memory)});
  }
  return {"Stages",
          {timetable_figure(pipeline), parts,
           Paragraph{"Where the time of the step went. Start and end: idle as in the even timetable. Uneven stages: "
                     "idle beyond that, because other stages take longer. Moves: the rest, moves between stages and "
                     "waiting for them."},
           stages}};
}

}  // namespace shardline::tools
