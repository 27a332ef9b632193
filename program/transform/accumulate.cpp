#include "program/transform/accumulate.h"

#include <algorithm>
#include <set>

#include "program/ops/add.h"
#include "program/ops/builder.h"
#include "program/ops/cast.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

std::size_t maker(const Program& program, ArrayId array) {
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const std::vector<ArrayId>& results = program.operations[i].results;
    if (std::find(results.begin(), results.end(), array) != results.end()) return i;
  }
  throw Error("no operation makes " + to_string(program.array(array)));
}

/// The terms that have a sum each. If they are several, their addition is removed.
std::vector<ArrayId> terms_of(Program& program, ArrayId part) {
  const std::size_t at = maker(program, part);
  const Operation& op = program.operations[at];
  if (op.kind != add_kind().name) return {part};
  std::set<int> layers;
  for (const ArrayId term : op.operands) layers.insert(program.operations[maker(program, term)].region.layer);
  if (layers.size() == 1) return {part};
  const std::vector<ArrayId> terms = op.operands;
  program.operations.erase(program.operations.begin() + static_cast<std::ptrdiff_t>(at));
  return terms;
}

/// A term that is cast is added in its type. Where its sum is split, the reduction comes before the cast: what is cast
/// lies as the sum does.
void lay_as_sum(Program& program, const Operation& maker) {
  if (maker.kind == cast_kind().name) program.array(maker.operands[0]).role = Role::sum;
}

/// Adds `term` to its sum, right after it is made: whole gradients must not pile up. Returns the new sum.
ArrayId carried(Program& program, ArrayId term, ArrayId primal) {
  const auto at = static_cast<std::ptrdiff_t>(maker(program, term));
  lay_as_sum(program, program.operations[static_cast<std::size_t>(at)]);
  program.region = program.operations[static_cast<std::size_t>(at)].region;
  const ArrayId before = add_like(program, "sum." + program.array(term).name, term, Role::sum);
  const ArrayId after = add_like(program, program.array(before).name + "'", term, Role::sum);
  program.array(before).primal = program.array(after).primal = primal;
  program.inputs.push_back(before);
  program.updates.emplace_back(before, after);
  add_into(program, {before, term}, after);
  std::rotate(program.operations.begin() + at + 1, program.operations.end() - 1, program.operations.end());
  return after;
}

}  // namespace

std::vector<ArrayId> accumulate(Program& program, const std::vector<ArrayId>& parts) {
  std::vector<ArrayId> wholes;
  for (const ArrayId part : parts) {
    const Array was = program.array(part);
    // The sum has a declared layout. A part takes the layout in which it is made.
    program.array(part).role = Role::activation;
    program.array(part).primal = -1;
    std::vector<ArrayId> sums;
    for (const ArrayId term : terms_of(program, part)) sums.push_back(carried(program, term, was.primal));
    program.region = {Pass::update, 0};
    wholes.push_back(add(program, "step." + was.name, sums, was.role));
    program.array(wholes.back()).primal = was.primal;
  }
  return wholes;
}

}  // namespace shardline
