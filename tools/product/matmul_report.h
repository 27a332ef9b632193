#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/plan/compiled.h"
#include "program/run/multiply.h"
#include "tools/job.h"
#include "tools/product/dense_check.h"
#include "tools/product/product_report.h"
#include "tools/report/page.h"
#include "tools/report/timeline_plot.h"

namespace shardline::tools {

/// The results of `shardline matmul`.
struct MatmulRecord {
  const Product* product = nullptr;
  std::vector<Candidate> candidates{};
  std::vector<Prediction> predicted{};         ///< for each candidate, from the measured figures of this machine
  Index chosen = 1;                            ///< counted from 1
  std::shared_ptr<const Compiled> compiled{};  ///< the chosen one
  bool needs_the_cores = false;                ///< no collective can run beside computation
  Overlap overlap{};                           ///< of all runs
  std::optional<OtherWork::Node> busiest{};    ///< the node with the most other work during the measurement
  std::vector<std::string> warnings{};         ///< differences between this run and the run that measured the machine
  std::vector<TimedStep> steps{};
  std::vector<Seconds> runs{};  ///< each run, on the slowest rank
  Accuracy accuracy{};
  double tolerance = 0;
  TimelineFigure timeline{};  ///< of the last run, for the page of --report

  const RankProgram& program() const { return compiled->program(); }
  const Prediction& prediction() const { return predicted[static_cast<std::size_t>(chosen - 1)]; }
  bool correct() const { return accuracy.relative() <= tolerance; }
};

/// Operations measured and predicted, worst first; the whole; what binds and what is off; whether
/// the result is right. Predictions are from `hardware`.
std::string result_text(const MatmulRecord& record, const roofline::Hardware& hardware);
/// Adds the keys of a matmul record.
void add_keys(Json& json, const MatmulRecord& record, const roofline::Hardware& hardware);
/// The page of --report.
Page page_of(Job& job, const MatmulRecord& record);

}  // namespace shardline::tools
