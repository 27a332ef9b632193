#include "program/transform/accumulate.h"

#include <fmt/format.h>

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

/// True if the operation adds terms that several layers made.
bool joins_layers(const Program& program, const Operation& op) {
  if (op.kind != add_kind().name) return false;
  std::set<int> layers;
  for (const ArrayId term : op.operands) layers.insert(program.operations[maker(program, term)].region.layer);
  return layers.size() > 1;
}

void erase(Program& program, std::size_t operation) {
  program.operations.erase(program.operations.begin() + static_cast<std::ptrdiff_t>(operation));
}

/// Moves the last operation to the place after operation number `at`.
void bring_last_after(Program& program, std::size_t at) {
  std::rotate(program.operations.begin() + static_cast<std::ptrdiff_t>(at) + 1, program.operations.end() - 1,
              program.operations.end());
}

/// `term` in another type, cast right after it is made.
ArrayId cast_where_made(Program& program, ArrayId term, const std::string& name, DType dtype) {
  const std::size_t at = maker(program, term);
  program.region = program.operations[at].region;
  const ArrayId made = cast(program, name, term, dtype);
  bring_last_after(program, at);
  return made;
}

/// The terms that have a sum each. If several layers made them, their addition is removed; where its result was cast,
/// every term is cast.
std::vector<ArrayId> terms_of(Program& program, ArrayId part) {
  const std::size_t made = maker(program, part);
  const bool casts = program.operations[made].kind == cast_kind().name;
  const ArrayId added = casts ? program.operations[made].operands[0] : part;
  const std::size_t addition = casts ? maker(program, added) : made;
  if (!joins_layers(program, program.operations[addition])) return {part};
  std::vector<ArrayId> terms = program.operations[addition].operands;
  if (casts) erase(program, made);
  erase(program, addition);
  if (!casts) return terms;
  const Array whole = program.array(part);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    program.array(terms[i]).primal = program.array(added).primal;
    terms[i] = cast_where_made(program, terms[i], fmt::format("{}.{}", whole.name, i + 1), whole.dtype);
  }
  return terms;
}

/// A term that is cast is added in its type. Where its sum is split, the reduction comes before the cast: what is cast
/// lies as the sum does.
void lay_as_sum(Program& program, const Operation& maker) {
  if (maker.kind == cast_kind().name) program.array(maker.operands[0]).role = Role::sum;
}

/// Adds `term` to its sum, right after it is made: whole gradients must not pile up. Returns the new sum.
ArrayId carried(Program& program, ArrayId term, ArrayId primal) {
  const std::size_t at = maker(program, term);
  lay_as_sum(program, program.operations[at]);
  program.region = program.operations[at].region;
  const ArrayId before = add_like(program, "sum." + program.array(term).name, term, Role::sum);
  const ArrayId after = add_like(program, program.array(before).name + "'", term, Role::sum);
  program.array(before).primal = program.array(after).primal = primal;
  program.inputs.push_back(before);
  program.updates.emplace_back(before, after);
  add_into(program, {before, term}, after);
  bring_last_after(program, at);
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
