#include "program/run/step_labels.h"

#include "program/ir/print.h"

namespace shardline {

std::vector<Label> step_labels(const Compiled& compiled) {
  const RankProgram& program = compiled.program();
  std::vector<RingFusion> rings;
  for (const auto& [action, ring] : compiled.schedule().rings) rings.push_back(ring);
  std::vector<Label> labels;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const StepEstimate e = compiled.predicts() ? compiled.estimates()[i] : StepEstimate{};
    labels.push_back({.name = to_string(program, step),
                      .kind = kind_name(program, step),
                      .axes = step.axes,
                      .limiter = std::string(roofline::name_of(e.price.limiter)),
                      .communicates = communicates(step.kind) || changes_stage(step.kind),
                      .fused = is_fused(compiled.schedule(), i),
                      .swept = is_swept(compiled.schedule(), i),
                      .bytes = e.bytes,
                      .wire_bytes = e.wire_bytes * times_moved(program, rings, static_cast<int>(i)),
                      .flops = e.flops,
                      .predicted = e.price.time,
                      .math = e.price.math,
                      .memory = e.price.memory,
                      .comms = e.price.comms});
  }
  return labels;
}

}  // namespace shardline
