// Parses a record of `shardline bench --json` and reports missing values and values of a wrong kind.
//
//   bench_record_check FILE RANKS ROWS     (RANKS over the axes measured)

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "tests/tools/record_faults.h"

namespace {

using shardline::record::expect;
using shardline::record::faults;
using shardline::record::Json;

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

/// Bytes that leave the busiest rank of a one-way ring, for `bytes` that the ranks divide. Partial sums of bf16
/// travel as f32, twice as long. An all_to_all sends the block for the rank d places further d times.
double ring_wire(const std::string& collective, bool bf16, double bytes, double ranks) {
  const double share = bytes * (ranks - 1) / ranks;
  const double partial = bf16 ? 2 * share : share;
  if (collective == "reduce_scatter") return partial;
  if (collective == "all_reduce") return partial + share;
  if (collective == "all_to_all") return bytes * (ranks - 1) / 2;
  return collective == "shift" ? bytes : share;
}

void check_times(const Json& row) {
  double last = 0;
  for (const char* key : {"min", "median", "p99", "max"}) {
    const double time = row.at("time_s").at(key).get<double>();
    expect(time >= last && time > 0, std::string("time_s is not in order at ") + key);
    last = time;
  }
  expect(row.at("runs").get<int>() >= 5, "fewer than 5 runs");
}

void check_bandwidths(const Json& row, double ranks) {
  if (ranks == 1) {
    expect(row.at("algbw").is_null() && row.at("busbw").is_null(), "one rank with a bandwidth");
    return;
  }
  const std::map<std::string, double> factors{{"all_gather", (ranks - 1) / ranks},
                                              {"reduce_scatter", (ranks - 1) / ranks},
                                              {"all_reduce", 2 * (ranks - 1) / ranks},
                                              {"all_to_all", (ranks - 1) / ranks},
                                              {"shift", 1}};
  const double algbw = row.at("bytes").get<double>() / row.at("time_s").at("median").get<double>();
  expect(near(row.at("algbw").get<double>(), algbw), "algbw is not bytes over time");
  const double factor = factors.at(row.at("collective").get<std::string>());
  expect(near(row.at("busbw").get<double>(), algbw * factor), "busbw is not that of nccl-tests");
}

void check_row(const Json& row, double ranks) {
  check_times(row);
  check_bandwidths(row, ranks);
  expect(row.at("wrong") == 0, "a wrong row");
  expect(row.at("ranks").get<double>() == ranks, "another number of ranks");
  expect(!row.at("axis").get<std::string>().empty(), "no axis");
  const auto algorithm = row.at("algorithm").get<std::string>();
  if (algorithm == "native") {
    expect(row.at("wire_bytes").is_null() && row.at("predicted_s").is_null(), "native with wire or prediction");
    return;
  }
  expect(row.at("predicted_s").get<double>() > 0, "no prediction");
  const double bytes = row.at("bytes").get<double>();
  const bool divides = row.at("count").get<int>() % static_cast<int>(ranks) == 0;
  if (algorithm == "ring" && divides) {
    const double wire = ranks == 1 ? 0 : ring_wire(row.at("collective"), row.at("dtype") == "bf16", bytes, ranks);
    expect(near(row.at("wire_bytes").get<double>() + 1, wire + 1), "wire_bytes are not those of a ring");
  }
}

void check_record(const Json& record, double ranks, std::size_t rows) {
  expect(record.at("schema") == "shardline.bench/1", "schema is not shardline.bench/1");
  expect(record.at("command") == "bench", "command is not bench");
  expect(record.at("mesh").is_object() && !record.at("mesh").empty(), "mesh is no object with axes");
  for (const char* key : {"host", "cores", "ranks_per_node", "threads_per_rank", "blas", "mpi", "commit"}) {
    expect(record.at("machine").contains(key), std::string("machine has no key ") + key);
  }
  expect(record.at("valid_timing").get<bool>() != record.contains("valid_timing_reason"),
         "valid_timing lacks a reason");
  expect(record.at("rows").size() == rows, "there are " + std::to_string(record.at("rows").size()) + " rows");
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Json& row : record.at("rows")) {
    check_row(row, ranks);
    pairs.emplace(row.at("collective"), row.at("algorithm"));
  }
  expect(record.at("summary").size() == pairs.size(), "the summary is not one per collective and algorithm");
  for (const Json& line : record.at("summary")) {
    if (line.at("algorithm") == "native") expect(line.at("times_native") == 1.0, "native is not as fast as itself");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::ifstream file(argv[1]);
  try {
    check_record(Json::parse(file), std::strtod(argv[2], nullptr), std::strtoul(argv[3], nullptr, 10));
  } catch (const std::exception& error) {
    expect(false, error.what());
  }
  return faults == 0 ? 0 : 1;
}
