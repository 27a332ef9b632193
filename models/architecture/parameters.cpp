#include "models/architecture/parameters.h"

#include <fmt/format.h>

#include "program/ops/cast.h"

namespace shardline {

ArrayId add_parameter(Program& program, const std::string& name, const std::vector<std::string>& dims, DType weights) {
  const bool vector = dims.size() == 1;
  const bool copied = !vector && weights != program.dtype;
  const ArrayId made = program.add_input(name, dims, copied ? Role::master : Role::parameter);
  program.array(made).dtype = vector ? sum_type(weights) : weights;
  return made;
}

ArrayId read_parameter(Program& program, ArrayId parameter) {
  const Array& array = program.array(parameter);
  if (array.role != Role::master) return parameter;
  const std::string name = fmt::format("{}.{}", array.name, name_of(program.dtype));
  const ArrayId copy = cast(program, name, parameter, program.dtype);
  program.array(copy).role = Role::parameter;
  return copy;
}

}  // namespace shardline
