// Parses a record of `shardline matmul --json` and reports missing values and values of a wrong kind.
//
//   record_check FILE CANDIDATE     (the candidate that ran, counted from 1)
//   record_check --same FILE FILE KEY     whether two records agree on a key of the product

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/tools/record_faults.h"

namespace {

using shardline::record::expect;
using shardline::record::faults;
using shardline::record::Json;

void expect_keys(const Json& object, const std::string& name, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (!object.contains(key)) {
      std::cerr << "record: " << name << " has no key " << key << "\n";
      ++faults;
    }
  }
}

bool ascending(const Json& times, const std::vector<std::string>& keys) {
  double last = 0;
  for (const std::string& key : keys) {
    if (!times.contains(key) || !times[key].is_number() || times[key].get<double>() < last) return false;
    last = times[key].get<double>();
  }
  return last > 0;
}

void check_record(const Json& record, std::size_t candidate) {
  expect_keys(record, "the record",
              {"schema", "command", "mesh", "machine", "valid_timing", "busy_with_others", "cases", "program",
               "operations", "candidates", "max_rel_error", "correct", "predicted_s", "measured_s"});
  if (faults > 0) return;
  expect(record["schema"] == "shardline.matmul/1", "schema is not shardline.matmul/1");
  expect(record["command"] == "matmul", "command is not matmul");
  expect(record["mesh"].is_object() && !record["mesh"].empty(), "mesh is no object with axes");
  expect_keys(record["machine"], "machine",
              {"host", "cores", "ranks_per_node", "threads_per_rank", "blas", "mpi", "commit"});
  const bool valid = record["valid_timing"].get<bool>();
  expect(valid != record.contains("valid_timing_reason"), "valid_timing_reason goes with invalid timings only");
  expect(record["cases"].size() % record["mesh"].size() == 0, "cases are not one per axis and product");
  for (const Json& each : record["cases"]) {
    expect(record["mesh"].contains(each["axis"].get<std::string>()), "a case of an axis that the mesh has not");
    expect(each["case"].get<int>() >= 1 && each["case"].get<int>() <= 4, "a case beyond 1 to 4");
  }
  expect(!record["program"].empty(), "the program is empty");
  expect(record["operations"].size() == record["program"].size(), "operations are not one per line of the program");
  for (std::size_t i = 0; i < record["operations"].size(); ++i) {
    const Json& operation = record["operations"][i];
    expect_keys(
        operation, "an operation",
        {"text", "kind", "axis", "bytes", "wire_bytes", "flops", "predicted_s", "measured_s", "exposed_s", "limiter"});
    expect(operation["text"] == record["program"][i], "operations and program disagree");
    expect(operation["measured_s"].get<double>() > 0, "an operation took no time");
    expect(operation["predicted_s"].get<double>() > 0, "an operation without a price");
  }
  expect(record["candidates"].size() >= candidate, "fewer candidates than the one that ran");
  expect(record["candidates"][candidate - 1]["program"] == record["program"], "another candidate ran");
  expect(record["correct"].get<bool>(), "the result is wrong");
  expect(record["max_rel_error"].get<double>() < 1e-2, "the error is large");
  expect(ascending(record["predicted_s"], {"lower", "scheduled", "upper"}), "predicted_s is not in order");
  expect(ascending(record["measured_s"], {"min", "median", "max"}), "measured_s is not in order");
}

/// The predictions of a candidate may differ between records. Its steps and costs may not.
void check_same(const Json& one, const Json& other, const std::string& key) {
  expect(one.at(key).size() == other.at(key).size(), key + " differ in number");
  if (key != "candidates") return expect(one.at(key) == other.at(key), key + " differ");
  for (std::size_t i = 0; i < std::min(one.at(key).size(), other.at(key).size()); ++i) {
    for (const char* part : {"number", "program", "wire_bytes", "flops", "price_s", "limiter"}) {
      expect(one[key][i].at(part) == other[key][i].at(part), key + " differ in " + part);
    }
  }
}

Json read(const char* path) {
  std::ifstream file(path);
  return Json::parse(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--same") {
    check_same(read(argv[2]), read(argv[3]), argv[4]);
    return faults == 0 ? 0 : 1;
  }
  if (argc != 3) return 2;
  try {
    check_record(read(argv[1]), std::strtoul(argv[2], nullptr, 10));
  } catch (const Json::exception& error) {
    expect(false, error.what());
  }
  return faults == 0 ? 0 : 1;
}
