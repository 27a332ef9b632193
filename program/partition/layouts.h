#pragma once

#include <map>
#include <optional>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/partition/convert.h"

namespace shardline {

/// May a gathered copy be reused outside the region that made it? `regather` frees it, `keep` keeps
/// it.
enum class Reuse : std::uint8_t { regather, keep };

struct Policy {
  Reuse parameters = Reuse::regather;
  Reuse activations = Reuse::keep;
};

/// What each mesh axis does in one operation.
struct Assignment {
  std::vector<Axes> splits;   ///< by index of the operation; several axes major first
  std::map<Axis, int> debts;  ///< axis -> group of Operation::linear that passes its debt
};

/// The layouts that an assignment requires of a phase's operand and produces for its result.
Sharding required_layout(const Program& program, const Operation& op, const Phase& phase, std::size_t operand,
                         const Assignment& assignment, const AbstractMesh& mesh);
Sharding produced_layout(const Program& program, const Operation& op, const Phase& phase, std::size_t result,
                         const Assignment& assignment, const AbstractMesh& mesh);

/// The versions of every array during partitioning.
class Layouts {
 public:
  Layouts(const RankProgram& program, Policy policy) : program_(program), policy_(policy) {}

  /// Stored versions: one for most arrays.
  std::vector<VersionId> stored(ArrayId array) const;
  /// Versions that an operation in `region` may start from.
  std::vector<VersionId> visible(ArrayId array, Region region) const;
  const std::vector<VersionId>& all(ArrayId array) const;
  bool has(ArrayId array) const { return versions_.count(array) > 0; }
  void set(ArrayId array, std::vector<VersionId> versions) { versions_[array] = std::move(versions); }
  void add(ArrayId array, VersionId version) { versions_[array].push_back(version); }
  void drop(ArrayId array, VersionId version);

  /// The final layout of `array`, if it has one: the declared one; for a gradient the stored layout
  /// of its primal. Then a debt in `natural` may stay on axes that do not shard the primal.
  std::optional<Sharding> wanted(ArrayId array, const Sharding* natural) const;

 private:
  const RankProgram& program_;
  Policy policy_;
  std::map<ArrayId, std::vector<VersionId>> versions_;
};

}  // namespace shardline
