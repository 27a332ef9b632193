// Reads a record of a run with --machine. The machine starts any operation in 1024 s and then takes no time. So every
// predicted time must be 1024 s for each operation.
//
//   machine_record_check FILE NAME HOST [COLLECTIVE=ALGORITHM ...]     (the algorithms of rows with `auto`)

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/tools/record_faults.h"

namespace {

using shardline::record::expect;
using shardline::record::faults;
using shardline::record::Json;

constexpr double kEach = 1024;

double number(const Json& object, const char* key) { return object.at(key).get<double>(); }

void check_predictions(const Json& record) {
  double operations = 0;
  for (const Json& operation : record.value("operations", Json::array())) {
    const double count = operation.contains("count") ? number(operation, "count") : 1;
    expect(number(operation, "predicted_s") == kEach * count,
           operation.at("text").get<std::string>() + " is predicted " + operation.at("predicted_s").dump());
    operations += count;
  }
  for (const Json& row : record.value("rows", Json::array())) {
    if (row.at("algorithm") == "native") continue;
    expect(number(row, "predicted_s") == kEach, "a row is predicted " + row.at("predicted_s").dump());
    ++operations;
  }
  expect(operations > 0, "nothing was predicted");
  // The choices: candidates of a product, strategies of a training step.
  for (const char* list : {"candidates", "strategies"}) {
    for (const Json& each : record.value(list, Json::array())) {
      const double total = number(each.at("price_s"), "total");
      expect(total >= kEach && std::fmod(total, kEach) == 0, std::string(list) + " cost " + std::to_string(total));
    }
  }
}

void check_machine(const Json& given, const std::string& name, const std::string& host) {
  expect(given.at("name") == name, "machine_file has another name");
  expect(given.at("host") == host, "machine_file has another host");
  expect(given.at("date") == "2026-01-31T12:00:00Z", "machine_file has another date");
  const auto hash = given.at("hash").get<std::string>();
  expect(hash.size() == 16 && hash.find_first_not_of("0123456789abcdef") == std::string::npos,
         "the hash is no 16 hexadecimal digits");
}

void check_carrier(const Json& record, const std::string& collective, const std::string& algorithm) {
  int found = 0;
  for (const Json& row : record.at("rows")) {
    if (row.at("algorithm") != "auto" || row.at("collective") != collective) continue;
    expect(row.at("carried_by") == algorithm, row.dump() + " did not go by " + algorithm);
    ++found;
  }
  expect(found > 0, collective + " has no row");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  try {
    const Json record = Json::parse(std::ifstream(argv[1]));
    check_machine(record.at("machine_file"), argv[2], argv[3]);
    check_predictions(record);
    for (int i = 4; i < argc; ++i) {
      const std::string wanted = argv[i];
      const std::size_t sign = wanted.find('=');
      check_carrier(record, wanted.substr(0, sign), wanted.substr(sign + 1));
    }
  } catch (const std::exception& error) {
    expect(false, error.what());
  }
  return faults == 0 ? 0 : 1;
}
