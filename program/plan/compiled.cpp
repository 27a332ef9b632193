#include "program/plan/compiled.h"

#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "program/ir/program_hash.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace shardline {

Compiled::Compiled(RankProgram program, CompileOptions options)
    : program_(std::move(program)), options_(std::move(options)) {}

const ProgramSchedule& Compiled::schedule() const {
  if (!schedule_) {
    schedule_ = options_.scheduling
                    ? shardline::schedule(program_, options_.prices, *options_.scheduling, options_.fusions)
                    : in_order(program_);
  }
  return *schedule_;
}

const Liveness& Compiled::liveness() const {
  if (!liveness_) liveness_.emplace(program_, schedule());
  return *liveness_;
}

const ArenaPlan& Compiled::arena() const {
  if (!arena_) arena_ = plan_arena(program_, liveness());
  return *arena_;
}

void Compiled::predict_by(roofline::Hardware predictions) {
  SHARDLINE_CHECK(!predicts(), "the program is predicted by {} already", options_.predictions->name);
  options_.predictions = std::move(predictions);
}

const roofline::Hardware& Compiled::predictions() const {
  SHARDLINE_CHECK(predicts(), "nothing predicts this program of {} steps", program_.steps.size());
  return *options_.predictions;
}

const std::vector<StepEstimate>& Compiled::estimates() const {
  if (!estimates_) estimates_ = estimate(program_, predictions(), liveness().strip_steps());
  return *estimates_;
}

const ScheduledTime& Compiled::time() const {
  if (!time_) time_ = scheduled_time(program_, schedule(), estimates(), predictions());
  return *time_;
}

std::uint64_t hash_of(const Compiled& compiled) {
  const ProgramSchedule& schedule = compiled.schedule();
  std::string text = fmt::format("{} panels of {}, {}; strips of {};", hash_of(compiled.program()),
                                 schedule.panel.value, schedule.cuts, schedule.strip_bytes);
  for (const Action& action : schedule.actions) {
    text += fmt::format("{} {} {} {};", static_cast<int>(action.kind), action.polls, action.uniform,
                        fmt::join(action.steps, " "));
  }
  for (const auto& [step, fusion] : schedule.alone) text += fmt::format("{} alone;", step);
  return hash_of(text);
}

std::shared_ptr<Compiled> compile(RankProgram program, CompileOptions options) {
  return std::make_shared<Compiled>(std::move(program), std::move(options));
}

}  // namespace shardline
