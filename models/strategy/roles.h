#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

namespace shardline {

/// One row of the strategy table: what a mesh axis of this role shards, by kind of array, as the first of the listed
/// dims that the array has; and the indices it splits in the work, in order of preference.
struct RoleRow {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::string> gradients;  ///< and optimizer state
  std::vector<std::string> stream;     ///< the residual stream, and every parameter of one dim
  std::vector<std::string> tokens;
  std::vector<std::string> work;
};

/// The table. A strategy is nothing but rows of it on mesh axes; the algorithms of section 5.1 follow from it.
const std::vector<RoleRow>& strategy_table();

// What follows from a row. Whoever plans asks these, never for a name.

/// Each rank of the axis has sequences of its own: the batch must have tokens for all of them.
bool splits_batch(const RoleRow& row);
/// The tokens of one sequence lie on several ranks of the axis.
bool splits_sequences(const RoleRow& row);
/// A rank of the axis holds a part of the weights.
bool splits_weights(const RoleRow& row);
/// A rank of the axis holds a part of the gradients and of the optimizer state.
bool splits_state(const RoleRow& row);
/// A rank of the axis multiplies by its own part of a weight: the work is split by a dim that weights are split by.
bool splits_products(const RoleRow& row);

/// A row of the strategy table, as a value. Roles are ordered as their rows are.
class AxisRole {
 public:
  /// The role of this name. Throws UsageError with the names there are.
  static AxisRole parse(const std::string& name);
  /// The roles of the table, in its order.
  static const std::vector<AxisRole>& all();

  const RoleRow& row() const { return strategy_table()[number_]; }
  const std::string& name() const { return row().name; }

  auto operator<=>(const AxisRole&) const = default;

 private:
  explicit AxisRole(std::size_t number) : number_(number) {}

  std::size_t number_;  ///< of the row
};

/// The roles whose rows have `fact`, in the order of the table.
std::vector<AxisRole> roles_with(bool (*fact)(const RoleRow&));

/// The role of an axis when nobody says: the first that splits the batch and the weights.
AxisRole default_role();
/// The role of an axis between pods, over which little should move: the first that splits the batch alone.
AxisRole role_between_pods();

}  // namespace shardline
