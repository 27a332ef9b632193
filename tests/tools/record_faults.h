#pragma once

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

// Shared parts of the programs that read a record of the command. Each program is one source file.
namespace shardline::record {

using Json = nlohmann::json;
inline int faults = 0;

/// Reports and counts a fault of the record unless `ok`.
inline void expect(bool ok, const std::string& what) {
  if (ok) return;
  std::cerr << "record: " << what << "\n";
  ++faults;
}

}  // namespace shardline::record
