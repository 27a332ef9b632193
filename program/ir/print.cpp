#include "program/ir/print.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/layout/notation.h"

namespace shardline {
namespace {

ParsedArray written(const RankProgram& program, VersionId id) {
  const Array& array = program.array_of(id);
  return {.name = array.name, .dims = array.dims, .sharding = program.version(id).sharding};
}

std::vector<std::string> version_texts(const RankProgram& program, const std::vector<VersionId>& ids) {
  std::vector<std::string> texts;
  for (const VersionId id : ids) {
    const Array& array = program.array_of(id);
    texts.push_back(to_string(array.name, array.dims, program.version(id).sharding));
  }
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
    case StepKind::send:
    case StepKind::receive:
    case StepKind::compute:
      break;
  }
  throw Error(kind_name(program, step) + " is not a collective");
}

/// Names of the indices that both operands have and the result lacks, in the first operand's order.
std::vector<std::string> contracted(const Operation& op, const Phase& phase) {
  std::vector<std::string> names;
  for (const int index : phase.operand_subscripts[0]) {
    const auto has = [&](const Subscripts& s) { return std::find(s.begin(), s.end(), index) != s.end(); };
    if (has(phase.operand_subscripts[1]) && !has(phase.result_subscripts[0])) {
      names.push_back(op.indices[static_cast<std::size_t>(index)]);
    }
  }
  return names;
}

/// ", bf16" if the computation changes the element type of one array, as a cast does.
std::string made_type(const RankProgram& program, const Step& step) {
  if (step.operands.size() != 1) return "";
  const DType from = program.array_of(step.operands[0]).dtype;
  const DType to = program.array_of(step.results[0]).dtype;
  return is_integer(from) || from == to ? "" : fmt::format(", {}", name_of(to));
}

std::string computation_text(const RankProgram& program, const Step& step) {
  const Phase& phase = program.phase_of(step);
  const std::vector<std::string> operands = version_texts(program, step.operands);
  if (phase.kernel->form == KernelForm::sum) return fmt::format("{}", fmt::join(operands, " + "));
  return fmt::format("{}({}{})", phase.kernel->name, fmt::join(operands, ", "), made_type(program, step));
}

bool is_product(const RankProgram& program, const Step& step) {
  return step.kind == StepKind::compute && program.phase_of(step).kernel->form == KernelForm::product &&
         step.operands.size() == 2;
}

/// A product of two arrays, or a conversion, in the form that the parser knows too.
ParsedProduct written(const RankProgram& program, const Step& step) {
  ParsedProduct product{.operands = {}, .result = written(program, step.results[0])};
  product.operands.push_back(written(program, step.operands[0]));
  if (step.kind == StepKind::compute) {
    product.operands.push_back(written(program, step.operands[1]));
    product.times.push_back({.summed = contracted(program.operation_of(step), program.phase_of(step))});
    return product;
  }
  product.collective = {.name = collective_name(program, step), .subscript = step.axes};
  if (step.wire != collectives::Wire::automatic) product.collective->wire = name_of(step.wire);
  return product;
}

/// "x1[B_X, T, D] = Send_Z0>Z1(x1[B_X, T, D])". Of many small arrays that move together, only the first is named.
std::string move_text(const RankProgram& program, const Step& step) {
  SHARDLINE_CHECK(program.place.has_value(), "a {} in a program of no stage", kind_name(program, step));
  const StagePlace& place = *program.place;
  const bool sends = step.kind == StepKind::send;
  const std::vector<VersionId>& moved = sends ? step.operands : step.results;
  std::string arrays = version_texts(program, {moved.at(0)})[0];
  if (moved.size() > 1) arrays += fmt::format(" and {} more", moved.size() - 1);
  return fmt::format("{} = {}_{}{}>{}{}({})", arrays, sends ? "Send" : "Receive", place.axis,
                     sends ? place.stage : step.peer, place.axis, sends ? step.peer : place.stage, arrays);
}

}  // namespace

std::string to_string(const RankProgram& program, const Step& step) {
  if (changes_stage(step.kind)) return move_text(program, step);
  if (step.kind != StepKind::compute || is_product(program, step)) {
    return to_string(written(program, step)) + (moves_rows(step) ? ", rows in use" : "");
  }
  return fmt::format("{} = {}", fmt::join(version_texts(program, step.results), ", "), computation_text(program, step));
}

std::vector<std::string> lines(const RankProgram& program) {
  std::vector<std::string> result;
  for (const Step& step : program.steps) result.push_back(to_string(program, step));
  return result;
}

}  // namespace shardline
