#include "program/print.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {
namespace {

std::string version_text(const RankProgram& program, VersionId id) {
  const Array& array = program.array_of(id);
  return to_string(array.name, array.dims, program.version(id).sharding);
}

std::vector<std::string> version_texts(const RankProgram& program, const std::vector<VersionId>& ids) {
  std::vector<std::string> texts;
  for (const VersionId id : ids) texts.push_back(version_text(program, id));
  return texts;
}

/// Name of a collective in the book's spelling.
std::string collective_name(const RankProgram& program, const Step& step) {
  switch (step.kind) {
    case StepKind::all_gather:
      return "AllGather";
    case StepKind::reduce_scatter:
      return "ReduceScatter";
    case StepKind::all_reduce:
      return program.version(step.operands[0]).sharding.reduce == ReduceOp::max ? "AllReduceMax" : "AllReduce";
    case StepKind::all_to_all:
      return "AllToAll";
    case StepKind::reshard:
      return "Reshard";
    case StepKind::slice:
      return "Slice";
    case StepKind::owe:
      return "Owe";
    case StepKind::compute:
      break;
  }
  throw Error("a computation is not a collective");
}

/// Names of the indices that both operands have and the result lacks, in the first operand's order.
std::string contracted(const Operation& op, const Phase& phase) {
  std::vector<std::string> names;
  for (const int index : phase.operand_subscripts[0]) {
    const auto has = [&](const Subscripts& s) { return std::find(s.begin(), s.end(), index) != s.end(); };
    if (has(phase.operand_subscripts[1]) && !has(phase.result_subscripts[0])) {
      names.push_back(op.indices[static_cast<std::size_t>(index)]);
    }
  }
  const bool bare = std::all_of(names.begin(), names.end(), [](const std::string& n) { return n.size() == 1; });
  return names.empty() ? "*"
         : bare        ? fmt::format("*_{}", fmt::join(names, ""))
                       : fmt::format("*_{{{}}}", fmt::join(names, ","));
}

std::string computation_text(const RankProgram& program, const Step& step) {
  const Phase& phase = program.phase_of(step);
  const std::vector<std::string> operands = version_texts(program, step.operands);
  if (phase.kernel == Kernel::einsum && operands.size() == 2) {
    return fmt::format("{} {} {}", operands[0], contracted(program.operation_of(step), phase), operands[1]);
  }
  if (phase.kernel == Kernel::add) return fmt::format("{}", fmt::join(operands, " + "));
  return fmt::format("{}({})", name_of(phase.kernel), fmt::join(operands, ", "));
}

}  // namespace

std::string to_string(const RankProgram& program, const Step& step) {
  const std::string left = fmt::format("{}", fmt::join(version_texts(program, step.results), ", "));
  if (step.kind == StepKind::compute) return fmt::format("{} = {}", left, computation_text(program, step));
  const bool named = step.wire != collectives::Wire::automatic;
  return fmt::format("{} = {}_{}({}){}", left, collective_name(program, step), to_string(step.axes),
                     version_text(program, step.operands[0]),
                     named ? fmt::format(" over wire {}", name_of(step.wire)) : "");
}

std::vector<std::string> lines(const RankProgram& program) {
  std::vector<std::string> result;
  for (const Step& step : program.steps) result.push_back(to_string(program, step));
  return result;
}

}  // namespace shardline
