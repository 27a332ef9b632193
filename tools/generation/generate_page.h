#pragma once

#include "tools/generation/generate_report.h"
#include "tools/report/page.h"
#include "tools/report/timeline_plot.h"

namespace shardline::tools {

/// Predicted times of a step of decode by the number of sequences.
struct BatchCurve {
  std::vector<std::pair<Index, Seconds>> predicted;  ///< of the program, on this mesh under this strategy
  std::vector<std::pair<Index, Seconds>> bound;      ///< see PhaseBound
};

/// Prices decode for 1, 2, 4, ... sequences, up to at least 8 times those of `plan`. Pure.
BatchCurve batch_curve(const GenerationPlan& plan, const TransformerConfig& config, const roofline::Hardware& hardware);

/// Collective over all ranks: the page of --report. `timeline` is the last step of decode.
Page page_of(Job& job, const GenerationPlan& plan, const TransformerConfig& config, const GenerateRecord& record,
             const TimelineFigure& timeline);

}  // namespace shardline::tools
