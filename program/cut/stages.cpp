#include "program/cut/stages.h"

#include "program/cut/check_stages.h"

namespace shardline {

std::vector<WrittenOut> write_out_stages(const Cut& cut, const StagedStep& step) {
  std::vector<WrittenOut> stages;
  for (int stage = 0; stage < cut.stages(); ++stage) {
    stages.push_back(write_out(
        cut, {.axis = step.axis, .stage = stage, .micro_batches = step.micro_batches, .events = step.events}));
  }
  std::vector<const RankProgram*> programs;
  for (const WrittenOut& each : stages) programs.push_back(&each.program);
  check_stages(write_out(cut.micro(), step.micro_batches).program, programs);
  return stages;
}

}  // namespace shardline
