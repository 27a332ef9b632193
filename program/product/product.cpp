#include "program/product/product.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <set>

#include "program/ops/einsum.h"
#include "program/product/chain.h"
#include "program/product/written_collective.h"
#include "runtime/base/check.h"
#include "runtime/base/lists.h"
#include "runtime/base/number.h"

namespace shardline {
namespace {

bool names_dim(const DimNames& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

std::string text_of(const ParsedArray& array) { return to_string(array.name, array.dims, array.sharding); }

/// The arrays of a product, with axes of the mesh.
struct Arrays {
  std::vector<ParsedArray> operands;
  ParsedArray result;
  std::vector<DimNames> made;  ///< dims of the result of each product

  std::vector<const ParsedArray*> all() const {
    std::vector<const ParsedArray*> arrays;
    for (const ParsedArray& operand : operands) arrays.push_back(&operand);
    arrays.push_back(&result);
    return arrays;
  }
  bool operand_has(const std::string& dim) const {
    return std::any_of(operands.begin(), operands.end(), [&](const ParsedArray& a) { return names_dim(a.dims, dim); });
  }
};

void check_conversion(const ParsedArray& operand, const ParsedArray& result) {
  require(operand.name == result.name && operand.dims == result.dims,
          "{} is the only operand, so that it is moved and not computed with: the result is {} again, with the same "
          "dims in the same order, not {}",
          text_of(operand), operand.name, text_of(result));
}

Arrays resolved(const ParsedProduct& parsed, const AbstractMesh& mesh) {
  const bool converts = parsed.operands.size() == 1;
  require(converts || parsed.result.has_value(),
          "no result given; write -> C[...] after the operands, with the layout wanted");
  Arrays arrays;
  for (const ParsedArray& operand : parsed.operands) arrays.operands.push_back(resolve(operand, mesh));
  std::optional<ParsedArray> result;
  if (parsed.result) result = resolve(*parsed.result, mesh);
  if (converts) {
    const ParsedArray& operand = arrays.operands[0];
    if (result) check_conversion(operand, *result);
    arrays.result = parsed.collective ? result_of(*parsed.collective, operand, result, mesh) : result.value_or(operand);
    return arrays;
  }
  arrays.result = *result;
  std::vector<std::string> names;
  for (const ParsedArray* array : arrays.all()) {
    require(!names_dim(names, array->name), "the arrays of a product need names of their own; {} is given twice",
            array->name);
    names.push_back(array->name);
  }
  return arrays;
}

void check_dims(const Arrays& arrays) {
  for (const ParsedArray& array : arrays.operands) {
    for (const std::string& dim : array.dims) {
      const auto having = std::count_if(arrays.operands.begin(), arrays.operands.end(),
                                        [&](const ParsedArray& other) { return names_dim(other.dims, dim); });
      require(having > 1 || names_dim(arrays.result.dims, dim),
              "dim {} of {} is in no other operand and not in the result {}: only a dim of two operands can be summed "
              "over",
              dim, text_of(array), text_of(arrays.result));
    }
  }
  for (const std::string& dim : arrays.result.dims) {
    require(arrays.operand_has(dim), "dim {} of the result {} is in no operand; the result has dims of its operands",
            dim, text_of(arrays.result));
  }
}

/// True if operand `number` owes on `axis`, or has it on a summed dim. Then the result may owe on
/// it.
bool may_leave_debt(const Arrays& arrays, std::size_t number, const Axis& axis) {
  const ParsedArray& array = arrays.operands[number];
  if (contains(array.sharding.unreduced, axis)) return true;
  const int dim = array.sharding.dim_of(axis);
  return dim >= 0 && summed_in_chain(arrays.made, number, array.dims[static_cast<std::size_t>(dim)]);
}

/// The legal debts after a conversion: new sums may be owed. Of maxima only those that the operand
/// owes.
void check_debts_of_conversion(const ParsedArray& operand, const ParsedArray& result) {
  const Sharding& from = operand.sharding;
  const Sharding& to = result.sharding;
  const bool maxima = !from.unreduced.empty() && from.reduce == ReduceOp::max;
  const bool kept = std::all_of(to.unreduced.begin(), to.unreduced.end(),
                                [&](const Axis& axis) { return contains(from.unreduced, axis); });
  const bool legal = to.unreduced.empty() || (maxima ? to.reduce == ReduceOp::max && kept : to.reduce == ReduceOp::sum);
  require(legal, "{} cannot become {}: maxima can only be owed where {} owes them", text_of(operand), text_of(result),
          operand.name);
}

void check_debts(const Arrays& arrays) {
  if (arrays.operands.size() == 1) return check_debts_of_conversion(arrays.operands[0], arrays.result);
  for (const ParsedArray* array : arrays.all()) {
    require(array->sharding.reduce == ReduceOp::sum,
            "{}: a product can carry sums that are owed, {{U_...}}, but no maxima", text_of(*array));
  }
  for (const Axis& axis : arrays.result.sharding.unreduced) {
    bool possible = false;
    for (std::size_t i = 0; i < arrays.operands.size(); ++i) possible = possible || may_leave_debt(arrays, i, axis);
    require(possible, "the result {} cannot owe on {}: no operand owes on it or has it on a dim that is summed over",
            text_of(arrays.result), axis);
  }
}

void check_countable(const std::string& text, const DimNames& dims, const std::map<std::string, Index>& sizes) {
  double elements = 1;
  for (const std::string& dim : dims) elements *= static_cast<double>(sizes.at(dim));
  // Bytes and FLOPs must stay below 2^63 too.
  require(elements < 0x1p56, "{} would have {:.3g} elements, more than can be counted", text, elements);
}

void check_sizes(const Arrays& arrays, const std::map<std::string, Index>& sizes) {
  for (const ParsedArray* array : arrays.all()) {
    for (const std::string& dim : array->dims) {
      const auto size = sizes.find(dim);
      require(size != sizes.end(), "dim {} of {} has no size; give it as {}=1024", dim, text_of(*array), dim);
      require(size->second > 0, "size {}={} is not positive", dim, size->second);
    }
    check_countable(text_of(*array), array->dims, sizes);
  }
  for (const auto& [dim, size] : sizes) {
    require(arrays.operand_has(dim), "size {}={} is given, but no array has a dim {}", dim, size, dim);
  }
}

/// `dims` as written. A word of several one-letter dims (`*_{JK}`) is split into its letters.
std::set<std::string> dims_meant(const std::vector<std::string>& written, const Arrays& arrays) {
  std::set<std::string> dims;
  for (const std::string& word : written) {
    const bool letters = !arrays.operand_has(word) &&
                         std::all_of(word.begin(), word.end(), [&](char c) { return arrays.operand_has({c}); });
    if (!letters) dims.insert(word);
    for (const char letter : letters ? word : "") dims.insert({letter});
  }
  return dims;
}

/// `·_LOCAL` leaves the sum over a sharded dim owed.
void check_local(const Arrays& arrays) {
  require(arrays.operands.size() == 2, "LOCAL stands in a product of two arrays; here are {}", arrays.operands.size());
  const ParsedArray& a = arrays.operands[0];
  const ParsedArray& b = arrays.operands[1];
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    if (names_dim(arrays.result.dims, a.dims[d])) continue;
    for (const Axis& axis : a.sharding.dims[d]) {
      const int on_b = b.sharding.dim_of(axis);
      const bool both = on_b >= 0 && b.dims[static_cast<std::size_t>(on_b)] == a.dims[d];
      require(!both || contains(arrays.result.sharding.unreduced, axis),
              "LOCAL leaves the sum over {} owed on {}, as in {}[...]{{U_{}}}, but the result is {}", a.dims[d], axis,
              arrays.result.name, axis, text_of(arrays.result));
    }
  }
}

/// Checks that each product sums over the dims written below its `*`.
void check_times(const std::vector<ParsedTimes>& times, const Arrays& arrays) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].local) check_local(arrays);
    if (times[i].summed.empty()) continue;
    const DimNames& left = i == 0 ? arrays.operands[0].dims : arrays.made[i - 1];
    std::set<std::string> summed;
    std::copy_if(left.begin(), left.end(), std::inserter(summed, summed.end()), [&](const std::string& dim) {
      return names_dim(arrays.operands[i + 1].dims, dim) && !names_dim(arrays.made[i], dim);
    });
    require(dims_meant(times[i].summed, arrays) == summed, "*_{} stands before {}, but that product sums over {}",
            shardline::to_string(times[i].summed), text_of(arrays.operands[i + 1]),
            summed.empty() ? "no dim" : fmt::format("{}", fmt::join(summed, ", ")));
  }
}

/// "T1", or the next name of this form that no array has.
std::string intermediate_name(const Arrays& arrays, int& number) {
  std::string name;
  do {
    name = fmt::format("T{}", ++number);
  } while (std::any_of(arrays.operands.begin(), arrays.operands.end(),
                       [&](const ParsedArray& a) { return a.name == name; }) ||
           arrays.result.name == name);
  return name;
}

}  // namespace

std::map<std::string, Index> parse_sizes(const std::string& text) {
  std::map<std::string, Index> sizes;
  if (trimmed(text).empty()) return sizes;
  for (const auto& [item, dim, value] : named_values(text)) {
    require(value.has_value(), "sizes \"{}\": \"{}\" is no size; write dims and sizes as in I=1024,J=512", text, item);
    const std::optional<Index> size = whole_number<Index>(*value);
    require(size.has_value(), "size {}: \"{}\" is not a whole number up to {}", dim, *value,
            std::numeric_limits<Index>::max());
    require(*size > 0, "size {}={} is not positive", dim, *size);
    require(sizes.emplace(dim, *size).second, "sizes \"{}\": dim {} is given twice", text, dim);
  }
  return sizes;
}

Product make_product(const ParsedProduct& parsed, const std::map<std::string, Index>& sizes, const AbstractMesh& mesh,
                     const ProductTypes& types) {
  Arrays arrays = resolved(parsed, mesh);
  check_dims(arrays);
  check_sizes(arrays, sizes);
  std::vector<DimNames> dims;
  for (const ParsedArray& operand : arrays.operands) dims.push_back(operand.dims);
  if (dims.size() > 1) arrays.made = chain_dims(dims, arrays.result.dims);
  check_debts(arrays);
  check_times(parsed.times, arrays);
  Product product;
  product.mesh = mesh;
  if (parsed.collective) product.wire = parsed.collective->wire;
  product.program.sizes = sizes;
  product.program.dtype = types.products;
  for (const ParsedArray& operand : arrays.operands) {
    product.operands.push_back(product.program.add_input(operand.name, operand.dims, Role::activation));
    product.program.array(product.operands.back()).dtype = types.operands;
    product.declaration.layouts[product.operands.back()] = operand.sharding;
  }
  ArrayId left = product.operands[0];
  int number = 0;
  for (std::size_t i = 1; i < product.operands.size(); ++i) {
    const DimNames& made = arrays.made[i - 1];
    const bool last = i + 1 == product.operands.size();
    const std::string name = last ? arrays.result.name : intermediate_name(arrays, number);
    check_countable(shardline::to_string(name, made, Sharding::replicated(made.size())), made, sizes);
    left = einsum(product.program, name, {left, product.operands[i]}, made);
  }
  product.result = left;
  (product.converts() ? product.declaration.wanted : product.declaration.layouts)[left] = arrays.result.sharding;
  if (product.converts()) product.program.array(left).reduce = arrays.operands[0].sharding.reduce;
  product.program.outputs = {left};
  return product;
}

std::vector<Candidate> Product::candidates(const roofline::Hardware& hardware) const {
  std::vector<Candidate> ways = partition_all(program, mesh, declaration, hardware);
  if (wire.empty()) return ways;
  for (const Step& step : ways.at(0).program.steps) {
    const bool reduces = step.kind == StepKind::all_reduce || step.kind == StepKind::reduce_scatter;
    require(!reduces || step.wire != collectives::Wire::automatic,
            "\"over wire {}\" is written, but {} has one wire, which has no name", wire,
            name_of(program.array(result).dtype));
    require(!reduces || name_of(step.wire) == wire, "\"over wire {}\" is written, but sums of {} on {} go over wire {}",
            wire, name_of(program.array(result).dtype), hardware.name, name_of(step.wire));
  }
  return ways;
}

std::string Product::to_string() const {
  const auto text = [&](ArrayId id, const Sharding& layout) {
    return shardline::to_string(program.array(id).name, program.array(id).dims, layout);
  };
  std::vector<std::string> factors;
  for (const ArrayId operand : operands) factors.push_back(text(operand, sharding(operand)));
  return fmt::format("{} -> {}", fmt::join(factors, " * "), text(result, result_sharding()));
}

namespace {

/// The cases of one product of two factors.
class ProductCases {
 public:
  ProductCases(const Product& product, const RankProgram& program, const Operation& op)
      : declared_(product.declaration.layouts), program_(program), op_(op) {}

  AxisCase of(const Axis& axis) const {
    const Array& a = factor(0);
    const Array& b = factor(1);
    const std::string on_a = dim_on(op_.operands[0], axis);
    const std::string on_b = dim_on(op_.operands[1], axis);
    const bool free_in_both = !on_a.empty() && !on_b.empty() && !names_dim(b.dims, on_a) && !names_dim(a.dims, on_b);
    if (!on_a.empty() && on_a == on_b && contracted(on_a)) {
      return {axis, 3, fmt::format("both operands are sharded on the contracted dim {}", on_a)};
    }
    if (contracted(on_a) || contracted(on_b)) {
      const bool first = contracted(on_a);
      return {axis, 2,
              fmt::format("the contracted dim {} is sharded in {} and not in {}", first ? on_a : on_b,
                          first ? a.name : b.name, first ? b.name : a.name)};
    }
    if (free_in_both) {
      return {axis, 4, fmt::format("it shards {} of {} and {} of {}, both not contracted", on_a, a.name, on_b, b.name)};
    }
    return {axis, 1, "no operand is sharded on a contracted dim"};
  }

 private:
  const Array& factor(std::size_t i) const { return program_.program.array(op_.operands[i]); }

  bool contracted(const std::string& dim) const {
    const Array& made = program_.program.array(op_.results[0]);
    return names_dim(factor(0).dims, dim) && names_dim(factor(1).dims, dim) && !names_dim(made.dims, dim);
  }

  /// The dim that the axis shards in an operand, or in an array between products as it is made.
  /// Empty if there is none.
  std::string dim_on(ArrayId id, const Axis& axis) const {
    const auto declared = declared_.find(id);
    const auto made = std::find_if(program_.versions.begin(), program_.versions.end(),
                                   [&](const Version& version) { return version.array == id; });
    const Sharding& sharding = declared != declared_.end() ? declared->second : made->sharding;
    const int dim = sharding.dim_of(axis);
    return dim < 0 ? std::string() : program_.program.array(id).dims[static_cast<std::size_t>(dim)];
  }

  const std::map<ArrayId, Sharding>& declared_;  ///< as written, including axes of size 1
  const RankProgram& program_;
  const Operation& op_;
};

}  // namespace

std::vector<AxisCase> cases(const Product& product, const RankProgram& program) {
  std::vector<AxisCase> all;
  const std::vector<Operation>& operations = program.program.operations;
  for (const Operation& op : operations) {
    const ProductCases factors(product, program, op);
    for (const Axis& axis : program.mesh.axes()) {
      all.push_back(factors.of(axis));
      if (operations.size() > 1) all.back().makes = program.program.array(op.results[0]).name;
    }
  }
  return all;
}

ProductTypes cpu_types(DType dtype) { return {dtype, dtype == DType::bf16 ? DType::f32 : dtype}; }

}  // namespace shardline
