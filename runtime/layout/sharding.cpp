#include "runtime/layout/sharding.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {

bool Sharding::uses(const Axis& axis) const { return contains(unreduced, axis) || dim_of(axis) >= 0; }

int Sharding::dim_of(const Axis& axis) const {
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (contains(dims[d], axis)) return static_cast<int>(d);
  }
  return -1;
}

Sharding validated(Sharding sharding, const std::string& name, const std::vector<std::string>& dim_names,
                   const AbstractMesh& mesh) {
  require(sharding.dims.size() == dim_names.size(), "array {} has {} dims, its sharding {}", name, dim_names.size(),
          sharding.dims.size());
  const std::string text = to_string(name, dim_names, sharding);
  Axes seen;
  for (std::size_t d = 0; d < dim_names.size(); ++d) {
    for (const Axis& axis : sharding.dims[d]) {
      require(mesh.has(axis), "{}: dim {} is sharded over axis {}, which mesh {} does not have", text, dim_names[d],
              axis, mesh.to_string());
      require(!contains(seen, axis), "{}: axis {} is used twice (again on dim {}); mesh {}", text, axis, dim_names[d],
              mesh.to_string());
      seen.push_back(axis);
    }
  }
  for (const Axis& axis : sharding.unreduced) {
    require(mesh.has(axis), "{}: unreduced over axis {}, which mesh {} does not have", text, axis, mesh.to_string());
    require(!contains(seen, axis), "{}: axis {} is used twice: it is unreduced and used before; mesh {}", text, axis,
            mesh.to_string());
    seen.push_back(axis);
  }
  require(sharding.reduce != ReduceOp::avg, "{}: an average is owed; only sums and maxima can be", text);
  sharding.unreduced = mesh.in_mesh_order(std::move(sharding.unreduced));
  if (sharding.unreduced.empty()) sharding.reduce = ReduceOp::sum;
  return sharding;
}

std::string to_string(const std::string& name, const std::vector<std::string>& dim_names, const Sharding& sharding) {
  std::vector<std::string> dims;
  for (std::size_t d = 0; d < sharding.dims.size(); ++d) {
    const std::string dim = d < dim_names.size() ? dim_names[d] : "?";
    dims.push_back(sharding.dims[d].empty() ? dim : dim + "_" + to_string(sharding.dims[d]));
  }
  std::string text = fmt::format("{}[{}]", name, fmt::join(dims, ", "));
  if (!sharding.unreduced.empty()) {
    text += fmt::format("{{{}_{}}}", sharding.reduce == ReduceOp::sum ? "U" : "Max", to_string(sharding.unreduced));
  }
  return text;
}

}  // namespace shardline
