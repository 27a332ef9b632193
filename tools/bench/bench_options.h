#pragma once

#include <string>
#include <vector>

#include "collectives/schedule/options.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/units.h"
#include "runtime/layout/abstract_mesh.h"
#include "tools/bench/bench_timing.h"
#include "tools/job.h"

namespace shardline::tools {

/// The arguments of `shardline bench` as given.
struct BenchOptions {
  CommonOptions common;
  std::vector<std::string> collectives;
  std::string axis;
  std::string algorithm = "auto,native";
  std::string bytes = "1K:16M";
  std::string least_bytes;  ///< in the form of nccl-tests
  std::string most_bytes;
  std::string factor;
  std::string counts;
  std::string op = "sum";
  std::string wire = "auto";
  std::string segment;
  double seconds = 0.3;
  std::string iters;
  bool cold = false;
  std::string plot;
  std::string csv;
  std::string report;
};

/// Adds the arguments. `options` must outlive the parsing.
void add_bench_options(CLI::App& command, BenchOptions& options);

/// A collective, and the algorithms to measure, in order.
struct KindPlan {
  collectives::Kind kind = collectives::Kind::all_gather;
  std::vector<collectives::Algorithm> algorithms;
};

/// What to measure.
struct BenchPlan {
  std::vector<KindPlan> kinds;
  Axes axes;
  Index ranks = 1;            ///< over the axes
  std::vector<Index> counts;  ///< elements
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
  collectives::Wire wire = collectives::Wire::automatic;
  Index segment_bytes = 0;  ///< 0: the library's own choice
  TimingPlan timing;        ///< of the runs of one row
  bool cold = false;
  std::vector<std::string> left_out;  ///< combinations that do not exist, in words
};

/// Throws UsageError with the given and the legal values. A combination that an algorithm does not
/// support is left out if the collective has other algorithms to measure, else refused.
BenchPlan plan_bench(const BenchOptions& options, DType dtype, const AbstractMesh& mesh);

}  // namespace shardline::tools
