#include "program/ops/operations.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"

namespace shardline {
namespace {

using Dims = std::vector<std::string>;

/// An array in a phase with the operation's names for its dims.
struct Term {
  ArrayId array;
  Dims indices;
};

/// Collects an operation's phases under named indices and appends it to the program.
class Builder {
 public:
  Builder(Program& program, std::string kind) : program_(program) { op_.kind = std::move(kind); }

  Term named(ArrayId array) const { return {array, program_.array(array).dims}; }

  Builder& phase(Kernel kernel, const std::vector<Term>& operands, const std::vector<Term>& results) {
    Phase phase;
    phase.kernel = kernel;
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

  Builder& whole(const Dims& names) {
    for (std::size_t i = 0; i < op_.indices.size(); ++i) {
      if (std::find(names.begin(), names.end(), op_.indices[i]) != names.end()) op_.whole[i] = true;
    }
    return *this;
  }

  Builder& linear_in(std::vector<ArrayId> group) {
    op_.linear.push_back(std::move(group));
    return *this;
  }

  Builder& attributes(const Attributes& attributes) {
    op_.attributes = attributes;
    return *this;
  }

  void append(std::vector<ArrayId> operands, std::vector<ArrayId> results) {
    op_.operands = std::move(operands);
    op_.results = std::move(results);
    op_.region = program_.region;
    program_.operations.push_back(std::move(op_));
  }

 private:
  Subscripts number(const Term& term) {
    const Array& array = program_.array(term.array);
    SHARDLINE_CHECK(array.dims.size() == term.indices.size(), "{}: {} has {} dims, {} indices given", op_.kind,
                    to_string(array), array.dims.size(), term.indices.size());
    Subscripts subscripts;
    for (std::size_t d = 0; d < term.indices.size(); ++d) {
      subscripts.push_back(index(term.indices[d], array.shape[d], array));
    }
    return subscripts;
  }

  int index(const std::string& name, Index extent, const Array& array) {
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

  Program& program_;
  Operation op_;
};

/// `dims` without the last.
Dims leading(const Dims& dims) { return {dims.begin(), dims.end() - 1}; }

Dims keys_of(const Dims& dims) {
  Dims result = dims;
  std::replace(result.begin(), result.end(), std::string("T"), std::string("S"));
  return result;
}

ArrayId scalar(Program& program, const std::string& name, Role role = Role::activation) {
  return program.add_array(name, {}, role);
}

/// Refuses a number of operands, or an index of the result, that einsum has no meaning for.
void check_einsum(const Program& program, const std::vector<ArrayId>& operands, ArrayId result) {
  require(!operands.empty() && operands.size() <= 3, "einsum takes 1 to 3 operands, not {}", operands.size());
  for (const std::string& dim : program.array(result).dims) {
    const bool occurs = std::any_of(operands.begin(), operands.end(), [&](ArrayId a) {
      const Dims& dims = program.array(a).dims;
      return std::find(dims.begin(), dims.end(), dim) != dims.end();
    });
    require(occurs, "einsum: index {} of {} is in no operand", dim, to_string(program.array(result)));
  }
}

}  // namespace

void einsum_into(Program& program, const std::vector<ArrayId>& operands, ArrayId result) {
  check_einsum(program, operands, result);
  Builder builder(program, "einsum");
  std::vector<Term> terms;
  for (const ArrayId operand : operands) {
    terms.push_back(builder.named(operand));
    if (std::count(operands.begin(), operands.end(), operand) == 1) builder.linear_in({operand});
  }
  builder.phase(Kernel::einsum, terms, {builder.named(result)}).append(operands, {result});
}

ArrayId einsum(Program& program, const std::string& name, const std::vector<ArrayId>& operands, const Dims& dims,
               Role role) {
  const ArrayId result = program.add_array(name, dims, role);
  einsum_into(program, operands, result);
  return result;
}

void add_into(Program& program, const std::vector<ArrayId>& terms, ArrayId result) {
  Builder builder(program, "add");
  std::vector<Term> named;
  for (const ArrayId term : terms) named.push_back(builder.named(term));
  builder.phase(Kernel::add, named, {builder.named(result)}).linear_in(terms).append(terms, {result});
}

ArrayId add(Program& program, const std::string& name, const std::vector<ArrayId>& terms, Role role) {
  const Dims dims = program.array(terms.at(0)).dims;
  const ArrayId result = program.add_array(name, dims, role);
  add_into(program, terms, result);
  return result;
}

ArrayId silu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u) {
  const Dims dims = program.array(g).dims;
  const ArrayId y = program.add_array(name, dims);
  Builder builder(program, "silu_mul");
  builder.phase(Kernel::silu_mul, {builder.named(g), builder.named(u)}, {builder.named(y)}).linear_in({u});
  builder.append({g, u}, {y});
  return y;
}

void silu_mul_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dg, ArrayId du) {
  Builder builder(program, "silu_mul_grad");
  const ArrayId g = forward.operands[0];
  const ArrayId u = forward.operands[1];
  builder
      .phase(Kernel::silu_mul_grad, {builder.named(dy), builder.named(g), builder.named(u)},
             {builder.named(dg), builder.named(du)})
      .linear_in({dy})
      .append({dy, g, u}, {dg, du});
}

ArrayId gelu(Program& program, const std::string& name, ArrayId x) {
  const Dims dims = program.array(x).dims;
  const ArrayId y = program.add_array(name, dims);
  Builder builder(program, "gelu");
  builder.phase(Kernel::gelu, {builder.named(x)}, {builder.named(y)}).append({x}, {y});
  return y;
}

void gelu_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dx) {
  Builder builder(program, "gelu_grad");
  const ArrayId x = forward.operands[0];
  builder.phase(Kernel::gelu_grad, {builder.named(dy), builder.named(x)}, {builder.named(dx)}).linear_in({dy});
  builder.append({dy, x}, {dx});
}

ArrayId rms_norm(Program& program, const std::string& name, ArrayId x, ArrayId w, double epsilon) {
  const Dims dims = program.array(x).dims;
  const ArrayId y = program.add_array(name, dims);
  const ArrayId squares = program.add_array(name + ".squares", leading(dims));
  Attributes attributes;
  attributes.epsilon = epsilon;
  Builder builder(program, "rms_norm");
  builder.phase(Kernel::sum_squares_rows, {builder.named(x)}, {builder.named(squares)})
      .phase(Kernel::normalize, {builder.named(x), builder.named(squares), builder.named(w)}, {builder.named(y)})
      .linear_in({w})
      .attributes(attributes)
      .append({x, w}, {y, squares});
  return y;
}

void rms_norm_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dx, ArrayId dw) {
  const ArrayId x = forward.operands[0];
  const ArrayId w = forward.operands[1];
  const ArrayId squares = forward.results[1];
  const Dims rows = program.array(squares).dims;
  const ArrayId dot = program.add_array(program.array(dy).name + ".dot", rows);
  Builder builder(program, "rms_norm_grad");
  builder.phase(Kernel::norm_dot, {builder.named(dy), builder.named(w), builder.named(x)}, {builder.named(dot)})
      .phase(Kernel::norm_grad,
             {builder.named(dy), builder.named(x), builder.named(squares), builder.named(w), builder.named(dot)},
             {builder.named(dx), builder.named(dw)})
      .linear_in({dy, dot})
      .attributes(forward.attributes)
      .append({dy, x, squares, w}, {dx, dw});
}

ArrayId rope(Program& program, const std::string& name, ArrayId x, double theta) {
  const Dims dims = program.array(x).dims;
  const ArrayId y = program.add_array(name, dims);
  Attributes attributes;
  attributes.theta = theta;
  Builder builder(program, "rope");
  builder.phase(Kernel::rope, {builder.named(x)}, {builder.named(y)})
      .whole({"H"})
      .linear_in({x})
      .attributes(attributes)
      .append({x}, {y});
  return y;
}

void rope_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dx) {
  Attributes attributes = forward.attributes;
  attributes.sign = -attributes.sign;
  Builder builder(program, "rope_grad");
  builder.phase(Kernel::rope, {builder.named(dy)}, {builder.named(dx)})
      .whole({"H"})
      .linear_in({dy})
      .attributes(attributes)
      .append({dy}, {dx});
}

ArrayId attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v) {
  const Dims dims = program.array(q).dims;
  const Dims keys = keys_of(program.array(k).dims);
  const ArrayId o = program.add_array(name, dims);
  const ArrayId lse = program.add_array(name + ".lse", leading(dims));
  Builder builder(program, "attention");
  builder.phase(Kernel::attention, {builder.named(q), {k, keys}, {v, keys}}, {builder.named(o), builder.named(lse)})
      .whole({"S", "H"})
      .append({q, k, v}, {o, lse});
  return o;
}

void attention_gradient(Program& program, ArrayId do_BTKGH, const Operation& forward, ArrayId dq, ArrayId dk,
                        ArrayId dv) {
  const ArrayId q = forward.operands[0];
  const ArrayId k = forward.operands[1];
  const ArrayId v = forward.operands[2];
  const ArrayId o = forward.results[0];
  const ArrayId lse = forward.results[1];
  const Dims keys = keys_of(program.array(k).dims);
  Builder builder(program, "attention_grad");
  builder
      .phase(Kernel::attention_grad,
             {builder.named(q), {k, keys}, {v, keys}, builder.named(o), builder.named(lse), builder.named(do_BTKGH)},
             {builder.named(dq), {dk, keys}, {dv, keys}})
      .whole({"S", "H"})
      .linear_in({do_BTKGH})
      .append({q, k, v, o, lse, do_BTKGH}, {dq, dk, dv});
}

ArrayId embed(Program& program, const std::string& name, ArrayId table, ArrayId ids, Role role) {
  Dims dims = program.array(ids).dims;
  dims.push_back(program.array(table).dims.at(1));
  const ArrayId x = program.add_array(name, dims, role);
  Builder builder(program, "embed");
  builder.phase(Kernel::embed, {builder.named(table), builder.named(ids)}, {builder.named(x)}).linear_in({table});
  builder.append({table, ids}, {x});
  return x;
}

void embed_gradient(Program& program, ArrayId dx, const Operation& forward, ArrayId dtable) {
  const ArrayId ids = forward.operands[1];
  Builder builder(program, "embed_grad");
  builder.phase(Kernel::embed_grad, {builder.named(dx), builder.named(ids)}, {builder.named(dtable)}).linear_in({dx});
  builder.append({dx, ids}, {dtable});
}

ArrayId cross_entropy(Program& program, const std::string& name, ArrayId logits, ArrayId labels) {
  const Dims tokens = leading(program.array(logits).dims);
  const ArrayId loss = scalar(program, name, Role::whole);
  const ArrayId max = program.add_array(name + ".max", tokens);
  program.array(max).reduce = ReduceOp::max;
  const ArrayId sum = program.add_array(name + ".sum", tokens);
  const ArrayId picked = program.add_array(name + ".picked", tokens);
  Attributes attributes;
  attributes.scale = 1.0 / static_cast<double>(std::max<Index>(1, element_count(program.array(labels).shape)));
  Builder builder(program, "cross_entropy");
  const auto in = [&](ArrayId id) { return builder.named(id); };
  builder.phase(Kernel::row_max, {in(logits)}, {in(max)})
      .phase(Kernel::sum_exp, {in(logits), in(max)}, {in(sum)})
      .phase(Kernel::pick, {in(logits), in(labels)}, {in(picked)})
      .phase(Kernel::negative_log_likelihood, {in(sum), in(max), in(picked)}, {in(loss)})
      .attributes(attributes)
      .append({logits, labels}, {loss, max, sum});
  return loss;
}

void cross_entropy_gradient(Program& program, ArrayId dloss, const Operation& forward, ArrayId dlogits) {
  const ArrayId logits = forward.operands[0];
  const ArrayId labels = forward.operands[1];
  const ArrayId max = forward.results[1];
  const ArrayId sum = forward.results[2];
  Builder builder(program, "cross_entropy_grad");
  builder
      .phase(
          Kernel::cross_entropy_grad,
          {builder.named(logits), builder.named(labels), builder.named(max), builder.named(sum), builder.named(dloss)},
          {builder.named(dlogits)})
      .linear_in({dloss})
      .attributes(forward.attributes)
      .append({logits, labels, max, sum, dloss}, {dlogits});
}

ArrayId sum_squares(Program& program, const std::string& name, ArrayId x) {
  const ArrayId sum = scalar(program, name);
  Builder builder(program, "sum_squares");
  builder.phase(Kernel::sum_squares, {builder.named(x)}, {builder.named(sum)}).append({x}, {sum});
  return sum;
}

void adamw(Program& program, const AdamWOperands& in, const kernels::AdamWOptions& options) {
  std::vector<ArrayId> results;
  for (const ArrayId old : {in.parameter, in.first_moment, in.second_moment}) {
    const Array before = program.array(old);
    results.push_back(program.add_array(before.name + "'", before.dims, before.role));
    program.updates.emplace_back(old, results.back());
  }
  const std::vector<ArrayId> operands = {in.parameter,    in.gradient,      in.first_moment, in.second_moment,
                                         in.norm_squared, in.learning_rate, in.step};
  Attributes attributes;
  attributes.adamw = options;
  Builder builder(program, "adamw");
  std::vector<Term> terms;
  std::vector<Term> made;
  for (const ArrayId operand : operands) terms.push_back(builder.named(operand));
  for (const ArrayId result : results) made.push_back(builder.named(result));
  builder.phase(Kernel::adamw, terms, made).attributes(attributes).append(operands, results);
}

}  // namespace shardline
