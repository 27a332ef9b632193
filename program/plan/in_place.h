#pragma once

#include "program/plan/compiled.h"

namespace shardline {

/// Throws Error, with the step, if a kernel that writes a part of its operand in place (Kernel::only_in_place) cannot
/// have its memory: the operand is no state of the program, is read after the write, or does not rest as the result
/// does. The same holds if such state is converted.
void check_in_place(const Compiled& compiled);

}  // namespace shardline
