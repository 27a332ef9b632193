#include "program/ops/builder.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {

std::vector<Term> Builder::named(const std::vector<ArrayId>& arrays) const {
  std::vector<Term> terms;
  for (const ArrayId array : arrays) terms.push_back(named(array));
  return terms;
}

Builder& Builder::phase_of_terms(const Kernel& kernel, const std::vector<Term>& operands,
                                 const std::vector<Term>& results) {
  Phase phase;
  phase.kernel = &kernel;
  for (const Term& term : operands) {
    phase.operands.push_back(term.array);
    phase.operand_subscripts.push_back(number(term));
  }
  for (const Term& term : results) {
    phase.results.push_back(term.array);
    phase.result_subscripts.push_back(number(term));
  }
  op_.phases.push_back(std::move(phase));
  return *this;
}

Builder& Builder::phase(const Kernel& kernel, const std::vector<ArrayId>& operands,
                        const std::vector<ArrayId>& results) {
  return phase_of_terms(kernel, named(operands), named(results));
}

Builder& Builder::whole(const Dims& names) {
  for (std::size_t i = 0; i < op_.indices.size(); ++i) {
    if (std::find(names.begin(), names.end(), op_.indices[i]) != names.end()) op_.whole[i] = true;
  }
  return *this;
}

Builder& Builder::linear_in(std::vector<ArrayId> group) {
  op_.linear.push_back(std::move(group));
  return *this;
}

Builder& Builder::constants(std::map<std::string, double> constants) {
  op_.constants = std::move(constants);
  return *this;
}

void Builder::append(std::vector<ArrayId> operands, std::vector<ArrayId> results) {
  op_.operands = std::move(operands);
  op_.results = std::move(results);
  op_.region = program_.region;
  program_.operations.push_back(std::move(op_));
}

Subscripts Builder::number(const Term& term) {
  const Array& array = program_.array(term.array);
  SHARDLINE_CHECK(array.dims.size() == term.indices.size(), "{}: {} has {} dims, {} indices given", op_.kind,
                  to_string(array), array.dims.size(), term.indices.size());
  Subscripts subscripts;
  for (std::size_t d = 0; d < term.indices.size(); ++d) {
    subscripts.push_back(index(term.indices[d], array.shape[d], array));
  }
  return subscripts;
}

int Builder::index(const std::string& name, Index extent, const Array& array) {
  const auto found = std::find(op_.indices.begin(), op_.indices.end(), name);
  const auto i = static_cast<std::size_t>(found - op_.indices.begin());
  if (found == op_.indices.end()) {
    op_.indices.push_back(name);
    op_.extents.push_back(extent);
    op_.whole.push_back(false);
  }
  require(op_.extents[i] == extent, "{}: index {} has size {} but {} gives it {}", op_.kind, name, op_.extents[i],
          to_string(array), extent);
  return static_cast<int>(i);
}

ArrayId add_like(Program& program, const std::string& name, ArrayId like, Role role) {
  const Dims dims = program.array(like).dims;
  const ArrayId made = program.add_array(name, dims, role);
  const Array& model = program.array(like);
  program.array(made).dtype = model.dtype;
  program.array(made).rows = model.rows;
  program.array(made).rows_share = model.rows_share;
  return made;
}

ArrayId add_sums(Program& program, const std::string& name, const Dims& dims) {
  const ArrayId made = program.add_array(name, dims);
  program.array(made).dtype = sum_type(program.dtype);
  return made;
}

Dims leading(const Dims& dims) { return {dims.begin(), dims.end() - 1}; }

}  // namespace shardline
