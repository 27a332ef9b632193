#include "program/timetable/fastest.h"

#include <utility>

namespace shardline {
namespace {

/// A makespan must be shorter by more than this share to count as shorter: sums are rounded.
constexpr double kEquallyLong = 1e-9;

}  // namespace

std::optional<FastestTimetable> fastest(const FastestQuestion& question) {
  std::optional<FastestTimetable> best;
  for (const TimetableRow& row : timetable_rows()) {
    const TaskCosts costs = question.costs(row.chunks_per_stage);
    const std::string name(row.name);
    Timetable timetable =
        make_timetable({.name = name, .stages = question.stages, .micro_batches = question.micro_batches}, costs);
    if (!question.fits(timetable, held(timetable))) continue;
    Timing timing = timed(timetable, costs);
    if (best && timing.makespan >= best->timing.makespan * (1 - kEquallyLong)) continue;
    best = {name, std::move(timetable), std::move(timing)};
  }
  return best;
}

}  // namespace shardline
