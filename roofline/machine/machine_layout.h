#pragma once

#include <string>

#include "roofline/machine/machine.h"

namespace shardline::roofline {

inline constexpr const char* kMachineSchema = "shardline.machine/1";

/// The text of machine_text() without the check.
std::string lay_out(const Machine& machine);

}  // namespace shardline::roofline
