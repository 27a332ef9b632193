#pragma once

#include <optional>
#include <vector>

#include "tools/generation/generate_report.h"
#include "tools/report/page.h"
#include "tools/report/timeline_plot.h"

namespace shardline::tools {

/// What a step of decode should take by the number of sequences, in rising order (book section 7.1).
struct BatchPoint {
  Index sequences = 0;
  Seconds predicted;  ///< of the program, on this mesh under this strategy
  PhaseBound bound;
};

/// Prices decode for 1, 2, 4, ... sequences, up to at least 8 times those of `plan`. A query sees `seen` of the places.
/// Pure.
std::vector<BatchPoint> batch_curve(const GenerationPlan& plan, const TransformerConfig& config, double seen,
                                    const roofline::Hardware& hardware);

/// The number of sequences from which on computing takes longer than reading: where the two lines of the bound cross,
/// straight between two points. The first point if computing takes longer there already; none if it never does.
std::optional<double> knee_of(const std::vector<BatchPoint>& curve);

/// Collective over all ranks: the page of --report. `timeline` is the last step of decode.
Page page_of(Job& job, const GenerationPlan& plan, const TransformerConfig& config, const GenerateRecord& record,
             const TimelineFigure& timeline);

}  // namespace shardline::tools
