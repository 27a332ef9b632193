#include "program/plan/flight_rules.h"

#include <algorithm>

namespace shardline {

FlightRules::FlightRules(const RankProgram& program, const roofline::Hardware& hardware, const ScheduleOptions& options)
    : program_(program), hardware_(hardware), options_(options) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const VersionId v : program.steps[i].results) producer_[v] = static_cast<int>(i);
    for (const VersionId v : program.steps[i].operands) readers_[v].push_back(static_cast<int>(i));
  }
}

bool FlightRules::overlaps(int step) const { return options_.overlap && frees_cores(step_of(step).axes, hardware_); }

bool FlightRules::starts_early(int step) const {
  const Step& s = step_of(step);
  if (s.kind == StepKind::receive) return true;
  return overlaps(step) && options_.distance > 0 && s.kind == StepKind::all_gather &&
         program_.array_of(s.operands[0]).role == Role::parameter && is_ready_early(s.operands[0]);
}

bool FlightRules::is_ready_early(VersionId version) const {
  const int maker = producer(version);
  if (maker < 0) return true;
  const Step& cast = step_of(maker);
  return cast.kind == StepKind::compute && std::all_of(cast.operands.begin(), cast.operands.end(), [&](VersionId v) {
           return producer(v) < 0 && program_.array_of(v).role == Role::master;
         });
}

bool FlightRules::ends_late(int step) const {
  const Array& array = program_.array_of(step_of(step).operands[0]);
  return overlaps(step) && options_.distance > 0 && array.role == Role::gradient &&
         program_.program.array(array.primal).role == Role::parameter;
}

int FlightRules::producer(VersionId version) const {
  const auto found = producer_.find(version);
  return found == producer_.end() ? -1 : found->second;
}

const std::vector<int>& FlightRules::readers(VersionId version) const {
  static const std::vector<int> none;
  const auto found = readers_.find(version);
  return found == readers_.end() ? none : found->second;
}

bool frees_cores(const Axes& axes, const roofline::Hardware& hardware) {
  return std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    const auto link = hardware.links.find(axis);
    return link != hardware.links.end() && link->second.frees_cores;
  });
}

}  // namespace shardline
