#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/ir/kernel.h"
#include "program/ir/program.h"

namespace shardline {

using Dims = std::vector<std::string>;

/// An array in a phase, with the operation's names for its dims.
struct Term {
  ArrayId array;
  Dims indices;
};

/// Collects the phases of an operation under named indices, and appends the operation to the
/// program. Index names are the dims of the arrays, unless a Term renames them. Throws UsageError
/// if sizes of one index differ.
class Builder {
 public:
  Builder(Program& program, std::string kind) : program_(program) { op_.kind = std::move(kind); }

  /// The array with its own dims as indices.
  Term named(ArrayId array) const { return {array, program_.array(array).dims}; }
  std::vector<Term> named(const std::vector<ArrayId>& arrays) const;

  /// A phase; the dims of its arrays name the indices.
  Builder& phase(const Kernel& kernel, const std::vector<ArrayId>& operands, const std::vector<ArrayId>& results);
  /// A phase in which some dims have other index names.
  Builder& phase_of_terms(const Kernel& kernel, const std::vector<Term>& operands, const std::vector<Term>& results);
  /// No axis may split the indices of these names.
  Builder& whole(const Dims& names);
  /// A group of arrays in which the results are jointly linear, see Operation::linear.
  Builder& linear_in(std::vector<ArrayId> group);
  Builder& constants(std::map<std::string, double> constants);
  void append(std::vector<ArrayId> operands, std::vector<ArrayId> results);

 private:
  Subscripts number(const Term& term);
  int index(const std::string& name, Index extent, const Array& array);

  Program& program_;
  Operation op_;
};

/// A new array with the dims and the type of `like`, and with as many rows in use.
ArrayId add_like(Program& program, const std::string& name, ArrayId like, Role role = Role::activation);

/// A new array for sums over elements of the program's type, in sum_type() of it.
ArrayId add_sums(Program& program, const std::string& name, const Dims& dims);

/// `dims` without the last.
Dims leading(const Dims& dims);

}  // namespace shardline
