#pragma once

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

// What the programs that read a record of the command share: each is one source file.
namespace shardline::record {

using Json = nlohmann::json;
inline int faults = 0;

/// Says what is wrong with the record, and counts it, unless `ok`.
inline void expect(bool ok, const std::string& what) {
  if (ok) return;
  std::cerr << "record: " << what << "\n";
  ++faults;
}

}  // namespace shardline::record
