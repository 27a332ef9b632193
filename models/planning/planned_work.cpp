#include "models/planning/planned_work.h"

namespace shardline {
namespace {

/// True if the step computes an array again that rematerialisation did not keep.
bool repeats(const RankProgram& program, const Step& step) {
  return std::any_of(step.results.begin(), step.results.end(),
                     [&](VersionId v) { return program.array_of(v).repeats >= 0; });
}

/// True if the step moves tokens between ranks that have parts of the same sequences: keys and values, or heads.
bool moves_context(const PricedSteps& priced, const Step& step) {
  const auto shares = [&](const Axis& axis) { return contains(priced.context, axis); };
  if (!communicates(step.kind) || std::none_of(step.axes.begin(), step.axes.end(), shares)) return false;
  const std::vector<std::string>& dims = priced.program.array_of(step.operands[0]).dims;
  // A reshard says no dims. It moves heads here and tokens there if other axes split heads too.
  if (step.kind == StepKind::reshard) return std::find(dims.begin(), dims.end(), "T") != dims.end();
  const auto is_context = [&](int dim) { return dim >= 0 && dims[static_cast<std::size_t>(dim)] == "T"; };
  return is_context(step.from_dim) || is_context(step.to_dim);
}

}  // namespace

bool is_attention(const RankProgram& program, const Step& step) {
  return step.kind == StepKind::compute && kind_name(program, step).rfind("attention", 0) == 0;
}

Seconds PlannedWork::busiest_link() const {
  Seconds most;
  for (const auto& [link, time] : links) most = std::max(most, time);
  return most;
}

roofline::Limiter PlannedWork::limiter() const { return largest_share(busiest_link() > math ? moving : computing); }

PlannedWork work_of(const PricedSteps& priced, const std::vector<int>& steps) {
  const ProgramPrice price = price_of_steps(priced.program, steps, priced.estimates, priced.hardware);
  PlannedWork work{.upper = price.sum, .math = price.math, .cores = price.cores, .flops = price.flops};
  work.links = price.links;
  for (const int number : steps) {
    const auto i = static_cast<std::size_t>(number);
    const Step& step = priced.program.steps[i];
    const roofline::Price& each = priced.estimates[i].price;
    const bool moves = communicates(step.kind);
    (moves ? work.moving : work.computing)[each.limiter] += each.time;
    work.taken += priced.taken[i];
    if (moves) work.exposed += priced.taken[i];
    if (is_attention(priced.program, step)) work.attention += each.time;
    if (moves_context(priced, step)) work.context += each.time;
    if (repeats(priced.program, step)) work.repeated += priced.estimates[i].flops;
  }
  return work;
}

roofline::Limiter largest_share(const std::map<roofline::Limiter, Seconds>& shares) {
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto found = std::max_element(shares.begin(), shares.end(), by_time);
  return found == shares.end() ? roofline::Limiter::latency : found->first;
}

}  // namespace shardline
