#include "program/partition/check.h"

#include <algorithm>
#include <set>

#include "program/ir/print.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

class Checker {
 public:
  explicit Checker(const RankProgram& program) : program_(program) {}

  void run() {
    for (const auto& [array, version] : program_.inputs) {
      check_rest(array, version, "input", program_.declared);
      made_.insert(version);
    }
    for (const Step& step : program_.steps) {
      step_ = &step;
      check_operands();
      step.kind == StepKind::compute ? check_computation() : check_conversion();
      if (step.kind == StepKind::compute) check_types();
      made_.insert(step.results.begin(), step.results.end());
    }
    step_ = nullptr;
    check_finals();
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(step_ == nullptr ? reason : fmt::format("{}: {}", reason, to_string(program_, *step_)));
  }

  const Sharding& layout(VersionId v) const { return program_.version(v).sharding; }

  void check_rest(ArrayId array, VersionId version, const char* what,
                  const std::map<ArrayId, Sharding>& layouts) const {
    const Array& a = program_.program.array(array);
    if (program_.version(version).array != array)
      refuse(fmt::format("{} {} is a version of another array", what, a.name));
    const auto declared = layouts.find(array);
    const Sharding& rests = layout(version);
    if (declared != layouts.end() && declared->second != rests) {
      refuse(fmt::format("{} rests as {}, declared {}", what, to_string(a.name, a.dims, rests),
                         to_string(a.name, a.dims, declared->second)));
    }
    if (declared == layouts.end() && !rests.unreduced.empty()) {
      refuse(fmt::format("{} still owes: {}", what, to_string(a.name, a.dims, rests)));
    }
  }

  void check_finals() const {
    std::vector<ArrayId> wanted = program_.program.outputs;
    for (const auto& [before, after] : program_.program.updates) wanted.push_back(after);
    for (const ArrayId array : wanted) {
      const auto last = program_.finals.find(array);
      const std::string& name = program_.program.array(array).name;
      if (last == program_.finals.end()) refuse(fmt::format("output {} has no final version", name));
      if (made_.count(last->second) == 0) refuse(fmt::format("output {} is never made", name));
      check_rest(array, last->second, "output", program_.wanted.count(array) > 0 ? program_.wanted : program_.declared);
    }
    for (const auto& [before, after] : program_.program.updates) {
      if (layout(program_.inputs.at(before)) != layout(program_.finals.at(after))) {
        refuse(fmt::format("state {} changes its layout", program_.program.array(before).name));
      }
    }
  }

  void check_operands() const {
    for (const VersionId v : step_->operands) {
      if (made_.count(v) == 0) refuse("reads a version that is not made yet");
    }
    for (const VersionId v : step_->results) {
      if (made_.count(v) > 0) refuse("makes a version twice");
    }
  }

  void check_computation() const {
    const Phase& phase = program_.phase_of(*step_);
    if (step_->operands.size() != phase.operands.size() || step_->results.size() != phase.results.size()) {
      refuse("wrong number of operands or results");
    }
    for (std::size_t k = 0; k < phase.operands.size(); ++k) {
      if (program_.version(step_->operands[k]).array != phase.operands[k]) refuse("reads another array");
    }
    for (std::size_t k = 0; k < phase.results.size(); ++k) {
      if (program_.version(step_->results[k]).array != phase.results[k]) refuse("makes another array");
    }
    check_index_orders(phase);
    for (const Axis& axis : program_.mesh.axes()) check_axis(phase, axis);
  }

  /// Every operand and result with an index must be cut along it in the same way, axes in the same
  /// order.
  void check_index_orders(const Phase& phase) const {
    const Operation& op = program_.operation_of(*step_);
    if (step_->splits.size() != op.indices.size()) refuse("does not say what splits each index");
    const auto check = [&](VersionId v, const Subscripts& subscripts) {
      for (std::size_t d = 0; d < subscripts.size(); ++d) {
        const auto index = static_cast<std::size_t>(subscripts[d]);
        if (layout(v).dims[d] != step_->splits[index]) {
          refuse(fmt::format("index {} is split by {} but {} is not laid so", op.indices[index],
                             step_->splits[index].empty() ? "nothing" : to_string(step_->splits[index]),
                             program_.array_of(v).name));
        }
        if (op.whole[index] && !step_->splits[index].empty()) {
          refuse(fmt::format("index {} must be whole", op.indices[index]));
        }
      }
    };
    for (std::size_t k = 0; k < phase.operands.size(); ++k) check(step_->operands[k], phase.operand_subscripts[k]);
    for (std::size_t k = 0; k < phase.results.size(); ++k) check(step_->results[k], phase.result_subscripts[k]);
  }

  /// One axis does one thing: it splits one index, or carries a debt through a linear group of the
  /// operation.
  void check_axis(const Phase& phase, const Axis& axis) const {
    const Operation& op = program_.operation_of(*step_);
    int split = -1;
    for (std::size_t i = 0; i < step_->splits.size(); ++i) {
      if (!contains(step_->splits[i], axis)) continue;
      if (split >= 0) refuse(fmt::format("axis {} splits two indices", axis));
      split = static_cast<int>(i);
    }
    std::set<ArrayId> owing;
    for (std::size_t k = 0; k < phase.operands.size(); ++k) {
      if (contains(layout(step_->operands[k]).unreduced, axis)) owing.insert(phase.operands[k]);
    }
    if (split >= 0 && !owing.empty()) {
      refuse(fmt::format("axis {} splits {} while an operand owes on it", axis,
                         op.indices[static_cast<std::size_t>(split)]));
    }
    if (!owing.empty() && !passes(op, phase, owing)) {
      refuse(fmt::format("what is unreduced over {} meets an operation not linear in it, or a reduced operand", axis));
    }
    for (std::size_t k = 0; k < phase.results.size(); ++k) {
      const Subscripts& subscripts = phase.result_subscripts[k];
      const bool summed = split >= 0 && occurs(phase.operand_subscripts, split) &&
                          std::find(subscripts.begin(), subscripts.end(), split) == subscripts.end();
      const bool owes = contains(layout(step_->results[k]).unreduced, axis);
      if (owes != (summed || !owing.empty())) {
        refuse(fmt::format("the debt of {} over {} is {}", program_.array_of(step_->results[k]).name, axis,
                           owes ? "invented" : "lost"));
      }
      const Sharding& made = layout(step_->results[k]);
      if (!made.unreduced.empty() && made.reduce != program_.array_of(step_->results[k]).reduce) {
        refuse("partial results combine in another way than the array says");
      }
    }
  }

  static bool occurs(const std::vector<Subscripts>& lists, int index) {
    return std::any_of(lists.begin(), lists.end(),
                       [&](const Subscripts& s) { return std::find(s.begin(), s.end(), index) != s.end(); });
  }

  /// The owing operands must be exactly the members of one linear group that this phase reads, each
  /// read once.
  static bool passes(const Operation& op, const Phase& phase, const std::set<ArrayId>& owing) {
    return std::any_of(op.linear.begin(), op.linear.end(), [&](const std::vector<ArrayId>& group) {
      std::set<ArrayId> members;
      for (const ArrayId a : phase.operands) {
        if (std::find(group.begin(), group.end(), a) != group.end()) members.insert(a);
      }
      return members == owing;
    });
  }

  void check_conversion() const {
    const Axes& axes = step_->axes;
    if (step_->operands.empty() || step_->results.size() != 1) refuse("converts one version into one");
    const VersionId from = step_->operands[0];
    const VersionId to = step_->results[0];
    if (program_.version(from).array != program_.version(to).array) refuse("converts one array into another");
    check_rows(from, to);
    if (axes.empty()) refuse("names no axis");
    Sharding made = layout(from);
    const bool pays = step_->kind == StepKind::all_reduce || step_->kind == StepKind::reduce_scatter;
    if (step_->kind == StepKind::all_gather || step_->kind == StepKind::all_to_all) take_minor(made, axes);
    if (pays) pay(made, axes);
    if (step_->kind == StepKind::reduce_scatter && layout(from).reduce != ReduceOp::sum) refuse("scatters maxima");
    if (step_->kind == StepKind::reduce_scatter || step_->kind == StepKind::slice ||
        step_->kind == StepKind::all_to_all) {
      append(made, axes);
    }
    if (step_->kind == StepKind::owe) {
      for (const Axis& axis : axes) {
        if (made.uses(axis)) refuse(fmt::format("axis {} is in use", axis));
        made.unreduced.push_back(axis);
      }
      if (program_.array_of(from).reduce != ReduceOp::sum) refuse("only sums can be owed");
      made.unreduced = program_.mesh.in_mesh_order(std::move(made.unreduced));
    }
    if (step_->kind == StepKind::reshard) check_reshard(made);
    if (made.unreduced.empty()) made.reduce = ReduceOp::sum;
    if (made != layout(to)) refuse("the result is not what the step makes");
  }

  /// An exchange of the two leading dims reads how many rows are in use, split as these dims are before and after. No
  /// other conversion reads a second array.
  void check_rows(VersionId from, VersionId to) const {
    const ArrayId rows = program_.array_of(from).rows;
    const bool leading = std::set<int>{step_->from_dim, step_->to_dim} == std::set<int>{0, 1};
    if (step_->kind != StepKind::all_to_all || rows < 0 || !leading) {
      if (step_->operands.size() != 1) refuse("converts one version into one");
      return;
    }
    if (step_->operands.size() != 3) refuse("does not read how many rows are in use, before and after");
    const Array& array = program_.array_of(from);
    const Array& counts = program_.program.array(rows);
    if (array.dims.size() < 3 || counts.dtype != DType::i32 ||
        counts.dims != std::vector(array.dims.begin(), array.dims.begin() + 2)) {
      refuse(fmt::format("{} of {} cannot count the rows in use of {}", to_string(counts), name_of(counts.dtype),
                         to_string(array)));
    }
    for (const auto& [version, end] : {std::pair{step_->operands[1], from}, std::pair{step_->operands[2], to}}) {
      const Sharding& lies = layout(version);
      if (program_.version(version).array != rows) refuse("counts rows in use by another array");
      if (!lies.unreduced.empty() || lies.dims[0] != layout(end).dims[0] || lies.dims[1] != layout(end).dims[1]) {
        refuse(fmt::format("the rows in use are not split as {}", to_string(array.name, array.dims, layout(end))));
      }
    }
  }

  void take_minor(Sharding& made, const Axes& axes) const {
    Axes& dim = dim_at(made, step_->from_dim);
    if (dim.size() < axes.size() || !std::equal(axes.rbegin(), axes.rend(), dim.rbegin())) {
      refuse("a gather takes the minor axes of the dim");
    }
    dim.resize(dim.size() - axes.size());
  }

  void append(Sharding& made, const Axes& axes) const {
    for (const Axis& axis : axes) {
      if (made.uses(axis)) refuse(fmt::format("axis {} is in use", axis));
    }
    Axes& dim = dim_at(made, step_->to_dim);
    dim.insert(dim.end(), axes.begin(), axes.end());
  }

  /// The element types of a computation are such that its kernel runs on them.
  void check_types() const {
    const Kernel& kernel = *program_.phase_of(*step_).kernel;
    if (kernel.types == KernelTypes::any) return;
    const bool by_operand = kernel.types == KernelTypes::stored;
    const Array& first = program_.array_of(by_operand ? step_->operands.at(0) : step_->results.at(0));
    const DType type = first.dtype;
    const bool may_be_bf16 = kernel.types != KernelTypes::same;
    if (type != DType::f32 && type != DType::f64 && !(may_be_bf16 && type == DType::bf16)) {
      refuse(fmt::format("{} {} {}f32 or f64, not {}", kernel.name, by_operand ? "reads" : "makes",
                         may_be_bf16 ? "bf16, " : "", name_of(type)));
    }
    const auto fits = [&](VersionId v, bool sums, bool narrower) {
      const Array& array = program_.array_of(v);
      const DType wanted = sums ? sum_type(type) : type;
      if (is_integer(array.dtype) || array.dtype == wanted || (narrower && array.dtype == DType::bf16)) return;
      refuse(fmt::format("{} of {} beside {} of {}", array.name, name_of(array.dtype), first.name, name_of(type)));
    };
    const bool widens = kernel.types == KernelTypes::product && type == DType::f32;
    for (std::size_t k = 0; k < step_->operands.size(); ++k) {
      fits(step_->operands[k], kernel.sum_operands.has(static_cast<int>(k)), widens);
    }
    for (std::size_t k = 0; k < step_->results.size(); ++k) {
      fits(step_->results[k], kernel.sum_results.has(static_cast<int>(k)), false);
    }
  }

  void pay(Sharding& made, const Axes& axes) const {
    for (const Axis& axis : axes) {
      if (!contains(made.unreduced, axis)) refuse(fmt::format("nothing is owed over {}", axis));
      made.unreduced = without(made.unreduced, axis);
    }
  }

  Axes& dim_at(Sharding& sharding, int dim) const {
    if (dim < 0 || static_cast<std::size_t>(dim) >= sharding.dims.size())
      refuse(fmt::format("there is no dim {}", dim));
    return sharding.dims[static_cast<std::size_t>(dim)];
  }

  /// A reshard may change every dim, and must name all axes of the dims that change. Debts stay.
  void check_reshard(Sharding& made) const {
    const Sharding& goal = layout(step_->results[0]);
    for (std::size_t d = 0; d < made.dims.size(); ++d) {
      if (made.dims[d] == goal.dims[d]) continue;
      for (const Axes& changed : {made.dims[d], goal.dims[d]}) {
        for (const Axis& axis : changed) {
          if (!contains(step_->axes, axis)) refuse(fmt::format("axis {} moves but is not named", axis));
        }
      }
    }
    const Array& array = program_.array_of(step_->results[0]);
    validated(goal, array.name, array.dims, program_.mesh);
    made.dims = goal.dims;
  }

  const RankProgram& program_;
  std::set<VersionId> made_;
  const Step* step_ = nullptr;
};

}  // namespace

void check(const RankProgram& program) { Checker(program).run(); }

}  // namespace shardline
