#include "models/parity/generation_faults.h"

#include <string_view>
#include <vector>

#include "models/parity/stand_in.h"

namespace shardline {
namespace {

constexpr std::string_view kWriteAtName = "write_at";
constexpr std::size_t kAtOfWrite = 2, kWhereOfWrite = 3;  // operands of write_at
constexpr std::size_t kAtOfRope = 1;

/// A call in which `change` has changed operand number `k`, whole numbers.
template <class Change>
void run_with_other(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays, std::size_t k,
                    Change change) {
  Tensor other = arrays.operands.at(k)->clone();
  const View<std::int32_t> values = other.view<std::int32_t>();
  for (Index i = 0; i < values.size(); ++i) values[i] = change(i, values[i]);
  std::vector<const Tensor*> operands = arrays.operands;
  operands[k] = &other;
  right.run(block, {operands, arrays.results});
}

/// Where there is no token there stays none.
std::int32_t next_position(Index /*i*/, std::int32_t position) { return position < 0 ? position : position + 1; }

struct NextPlace : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    run_with_other(right, block, arrays, kAtOfWrite, next_position);
  }
};

struct PlacesInOrder : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    const Index begin = block.range("S").begin;
    run_with_other(right, block, arrays, kWhereOfWrite,
                   [&](Index i, std::int32_t /*position*/) { return static_cast<std::int32_t>(begin + i); });
  }
};

struct TurnedFurther : Right {
  static void run(const Kernel& right, const PhaseBlock& block, const KernelArrays& arrays) {
    run_with_other(right, block, arrays, kAtOfRope, next_position);
  }
};

/// Gives the kernels of this name another one, in the steps for which `wanted` holds.
template <class Wrong, class Wanted>
bool stand_in_for(RankProgram& program, std::string_view name, Wanted wanted) {
  return stand_in<Wrong>(program, phases_where(program, [&](const Step& step) {
                           return program.phase_of(step).kernel->name == name && wanted(step);
                         }));
}

}  // namespace

bool cache_place_off_by_one(RankProgram& program) {
  return stand_in_for<NextPlace>(program, kWriteAtName, [](const Step&) { return true; });
}

bool cache_places_in_order(RankProgram& program) {
  return stand_in_for<PlacesInOrder>(program, kWriteAtName,
                                     [&](const Step& step) { return is_split(program, step, "S"); });
}

bool decode_position_off_by_one(RankProgram& program) {
  const bool decodes = program.program.sizes.at("T") == 1;
  return stand_in_for<TurnedFurther>(program, "rope", [&](const Step&) { return decodes; });
}

}  // namespace shardline
