#pragma once

#include <string>
#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// A parameter of a model as an input of its program, of type `weights`. If that is not the type of the program, it is
/// a Role::master. A parameter of one dim is always a Role::parameter, of sum_type() of the program: it is small, and
/// norms compute in that type.
ArrayId add_parameter(Program& program, const std::string& name, const std::vector<std::string>& dims, DType weights);

/// The array that products and lookups read: the parameter, or of a master its copy in the type of the program, cast
/// here and named "NAME.bf16". Call it once for each parameter: all readers share the copy.
ArrayId read_parameter(Program& program, ArrayId parameter);

}  // namespace shardline
