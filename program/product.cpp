#include "program/product.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "program/operations.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

using Dims = std::vector<std::string>;

bool has(const Dims& dims, const std::string& dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }

std::string text_of(const ParsedArray& array) { return to_string(array.name, array.dims, array.sharding); }

std::string trimmed(std::string text) {
  const auto space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), space).base(), text.end());
  return text;
}

/// The three arrays of a product, their axes those of the mesh.
struct Arrays {
  ParsedArray a;
  ParsedArray b;
  ParsedArray result;

  bool contracted(const std::string& dim) const {
    return has(a.dims, dim) && has(b.dims, dim) && !has(result.dims, dim);
  }
};

Arrays resolved(const ParsedProduct& parsed, const AbstractMesh& mesh) {
  require(parsed.operands.size() == 2,
          "{} operands given; a product takes two, as in A[I, J] * B[J, K] -> C[I, K] (chains are not implemented)",
          parsed.operands.size());
  require(parsed.result.has_value(), "no result given; write -> C[...] after the operands, with the layout wanted");
  Arrays arrays{resolve(parsed.operands[0], mesh), resolve(parsed.operands[1], mesh), resolve(*parsed.result, mesh)};
  const bool distinct =
      arrays.a.name != arrays.b.name && arrays.a.name != arrays.result.name && arrays.b.name != arrays.result.name;
  require(distinct, "the arrays of a product need three names; {}, {} and {} were given", arrays.a.name, arrays.b.name,
          arrays.result.name);
  return arrays;
}

void check_dims(const Arrays& arrays) {
  const auto check_summed = [&](const ParsedArray& array, const ParsedArray& other) {
    for (const std::string& dim : array.dims) {
      require(has(other.dims, dim) || has(arrays.result.dims, dim),
              "dim {} of {} is in neither {} nor the result {}: only a dim of both operands can be summed over", dim,
              text_of(array), text_of(other), text_of(arrays.result));
    }
  };
  check_summed(arrays.a, arrays.b);
  check_summed(arrays.b, arrays.a);
  for (const std::string& dim : arrays.result.dims) {
    require(has(arrays.a.dims, dim) || has(arrays.b.dims, dim), "dim {} of the result {} is in neither {} nor {}", dim,
            text_of(arrays.result), text_of(arrays.a), text_of(arrays.b));
  }
}

/// True when `array` owes on `axis` or has it on a contracted dim, so that a product of it may owe on the axis.
bool may_leave_debt(const Arrays& arrays, const ParsedArray& array, const Axis& axis) {
  const int dim = array.sharding.dim_of(axis);
  return contains(array.sharding.unreduced, axis) ||
         (dim >= 0 && arrays.contracted(array.dims[static_cast<std::size_t>(dim)]));
}

void check_debts(const Arrays& arrays) {
  for (const ParsedArray* array : {&arrays.a, &arrays.b, &arrays.result}) {
    require(array->sharding.reduce == ReduceOp::sum,
            "{}: a product can carry sums that are owed, {{U_...}}, but no maxima", text_of(*array));
  }
  for (const Axis& axis : arrays.result.sharding.unreduced) {
    require(may_leave_debt(arrays, arrays.a, axis) || may_leave_debt(arrays, arrays.b, axis),
            "the result {} cannot owe on {}: neither {} nor {} owes on it or has it on a dim that is summed over",
            text_of(arrays.result), axis, text_of(arrays.a), text_of(arrays.b));
  }
}

void check_sizes(const Arrays& arrays, const std::map<std::string, Index>& sizes) {
  for (const ParsedArray* array : {&arrays.a, &arrays.b, &arrays.result}) {
    double elements = 1;
    for (const std::string& dim : array->dims) {
      const auto size = sizes.find(dim);
      require(size != sizes.end(), "dim {} of {} has no size; give it as {}=1024", dim, text_of(*array), dim);
      require(size->second > 0, "size {}={} is not positive", dim, size->second);
      elements *= static_cast<double>(size->second);
    }
    // Bytes and FLOPs must stay below 2^63 too.
    require(elements < 0x1p56, "{} would have {:.3g} elements, more than can be counted", text_of(*array), elements);
  }
  for (const auto& [dim, size] : sizes) {
    require(has(arrays.a.dims, dim) || has(arrays.b.dims, dim), "size {}={} is given, but no array has a dim {}", dim,
            size, dim);
  }
}

}  // namespace

std::map<std::string, Index> parse_sizes(const std::string& text) {
  std::map<std::string, Index> sizes;
  if (trimmed(text).empty()) return sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = trimmed(text.substr(begin, end - begin));
    const std::size_t equals = item.find('=');
    require(equals != std::string::npos, "sizes \"{}\": \"{}\" is no size; write dims and sizes as in I=1024,J=512",
            text, item);
    const std::string dim = trimmed(item.substr(0, equals));
    const std::string number = trimmed(item.substr(equals + 1));
    Index size = 0;
    const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), size);
    require(error == std::errc() && last == number.data() + number.size(),
            "size {}: \"{}\" is not a whole number up to {}", dim, number, std::numeric_limits<Index>::max());
    require(size > 0, "size {}={} is not positive", dim, size);
    require(sizes.emplace(dim, size).second, "sizes \"{}\": dim {} is given twice", text, dim);
    begin = end + 1;
  }
  return sizes;
}

Product make_product(const ParsedProduct& parsed, const std::map<std::string, Index>& sizes, const AbstractMesh& mesh) {
  const Arrays arrays = resolved(parsed, mesh);
  check_dims(arrays);
  check_sizes(arrays, sizes);
  check_debts(arrays);
  Product product;
  product.mesh = mesh;
  product.program.sizes = sizes;
  product.a = product.program.add_input(arrays.a.name, arrays.a.dims, Role::activation);
  product.b = product.program.add_input(arrays.b.name, arrays.b.dims, Role::activation);
  product.result = einsum(product.program, arrays.result.name, {product.a, product.b}, arrays.result.dims);
  product.program.outputs = {product.result};
  product.declaration.layouts = {
      {product.a, arrays.a.sharding}, {product.b, arrays.b.sharding}, {product.result, arrays.result.sharding}};
  return product;
}

std::string Product::to_string() const {
  const auto text = [&](ArrayId id) {
    return shardline::to_string(program.array(id).name, program.array(id).dims, sharding(id));
  };
  return fmt::format("{} * {} -> {}", text(a), text(b), text(result));
}

std::vector<AxisCase> cases(const Product& product) {
  const Array& a = product.program.array(product.a);
  const Array& b = product.program.array(product.b);
  const Array& result = product.program.array(product.result);
  const auto dim_on = [&](ArrayId id, const Axis& axis) {
    const int dim = product.sharding(id).dim_of(axis);
    return dim < 0 ? std::string() : product.program.array(id).dims[static_cast<std::size_t>(dim)];
  };
  const auto contracted = [&](const std::string& dim) {
    return has(a.dims, dim) && has(b.dims, dim) && !has(result.dims, dim);
  };
  std::vector<AxisCase> all;
  for (const Axis& axis : product.mesh.axes()) {
    const std::string on_a = dim_on(product.a, axis);
    const std::string on_b = dim_on(product.b, axis);
    const bool free_in_both = !on_a.empty() && !on_b.empty() && !has(b.dims, on_a) && !has(a.dims, on_b);
    if (!on_a.empty() && on_a == on_b && contracted(on_a)) {
      all.push_back({axis, 3, fmt::format("both operands are sharded on the contracted dim {}", on_a)});
    } else if (contracted(on_a) || contracted(on_b)) {
      const bool first = contracted(on_a);
      all.push_back({axis, 2,
                     fmt::format("the contracted dim {} is sharded in {} and not in {}", first ? on_a : on_b,
                                 first ? a.name : b.name, first ? b.name : a.name)});
    } else if (free_in_both) {
      all.push_back(
          {axis, 4, fmt::format("it shards {} of {} and {} of {}, both not contracted", on_a, a.name, on_b, b.name)});
    } else {
      all.push_back({axis, 1, "no operand is sharded on a contracted dim"});
    }
  }
  return all;
}

}  // namespace shardline
