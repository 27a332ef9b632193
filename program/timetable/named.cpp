#include "program/timetable/named.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "program/timetable/makers.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

Index ahead_of_all(Index /*stage*/, Index /*stages*/, Index micro_batches) { return micro_batches; }
Index ahead_to_the_end(Index stage, Index stages, Index /*micro_batches*/) { return stages - stage; }
Index ahead_twice_round(Index stage, Index stages, Index /*micro_batches*/) { return 3 * stages - 2 * stage - 1; }
Index ahead_there_and_back(Index /*stage*/, Index stages, Index /*micro_batches*/) { return 2 * stages; }
Index no_lag(Index /*stage*/) { return 0; }
Index lag_of_stage(Index stage) { return stage; }

void check_request(const TimetableRequest& request) {
  require(request.stages >= 1, "a timetable of {} stages; legal is 1 or more", request.stages);
  require(request.micro_batches >= 1, "a timetable of {} micro-batches; legal is 1 or more", request.micro_batches);
}

}  // namespace

const std::vector<TimetableRow>& timetable_rows() {
  static const std::vector<TimetableRow> rows{
      {.name = "1f1b", .ahead = ahead_to_the_end, .lag = no_lag},
      {.name = "gpipe", .ahead = ahead_of_all, .lag = no_lag},
      {.name = "zb_h1", .split = true, .ahead = ahead_to_the_end, .lag = lag_of_stage},
      {.name = "interleaved", .chunks_per_stage = 2, .ahead = ahead_twice_round, .lag = no_lag},
      {.name = "interleaved_zb", .chunks_per_stage = 2, .split = true, .ahead = ahead_twice_round, .lag = lag_of_stage},
      {.name = "zb_v",
       .chunks_per_stage = 2,
       .placement = Placement::there_and_back,
       .split = true,
       .ahead = ahead_there_and_back,
       .lag = no_lag,
       .listed = true},
  };
  return rows;
}

const TimetableRow& timetable_row(const std::string& name) {
  for (const TimetableRow& row : timetable_rows()) {
    if (row.name == name) return row;
  }
  usage_error("unknown timetable \"{}\"; legal: {}", name, timetable_names());
}

std::vector<std::string> every_timetable() {
  std::vector<std::string> names;
  for (const TimetableRow& row : timetable_rows()) names.emplace_back(row.name);
  return names;
}

std::string timetable_names() { return fmt::format("{}", fmt::join(every_timetable(), ", ")); }

Timetable make_timetable(const TimetableRequest& request, const TaskCosts& costs) {
  const TimetableRow& row = timetable_row(request.name);
  check_request(request);
  Timetable timetable{.stages = request.stages, .micro_batches = request.micro_batches};
  for (int q = 0; q < request.stages * row.chunks_per_stage; ++q) {
    const int z = q % request.stages;
    const bool back = row.placement == Placement::there_and_back && q / request.stages % 2 == 1;
    timetable.place.push_back(back ? request.stages - 1 - z : z);
  }
  timetable.kinds = row.split ? std::vector{TaskKind::forward, TaskKind::inputs, TaskKind::weights}
                              : std::vector{TaskKind::forward, TaskKind::backward};
  check_costs(costs, timetable.kinds, timetable.chunks());
  timetable.orders =
      row.listed ? listed_orders(timetable, held_limits(request), costs) : ordered_orders(timetable, row);
  return timetable;
}

std::vector<Index> held_limits(const TimetableRequest& request) {
  const TimetableRow& row = timetable_row(request.name);
  check_request(request);
  std::vector<Index> limits;
  for (int z = 0; z < request.stages; ++z) {
    const Index promised = row.ahead(z, request.stages, request.micro_batches) + row.lag(z);
    limits.push_back(std::min(promised, request.micro_batches * row.chunks_per_stage));
  }
  return limits;
}

}  // namespace shardline
