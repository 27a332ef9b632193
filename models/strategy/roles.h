#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "program/partition/assign.h"

namespace shardline {

/// What a role of the table can be used for: a strategy of a training run, of generation, or of both.
enum class RoleUse : std::uint8_t { both, training, generation };

/// One row of the strategy table. For each kind of array, it lists dims. A mesh axis of this role shards the
/// first listed dim that the array has. `work` lists the indices that the axis splits, see WorkTable.
struct RoleRow {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::string> gradients;  ///< of the whole step, and optimizer state
  std::vector<std::string> sums;       ///< of the gradients of micro-batches, until the update
  std::vector<std::string> stream;     ///< the residual stream, and every parameter of one dim
  std::vector<std::string> tokens;
  std::vector<WorkIndex> work;
  std::vector<std::string> caches = {};  ///< of keys and values, when text is generated
  RoleUse use = RoleUse::both;
  /// Entries before those of `work` where each sequence has one token: norms may be computed whole on every rank. Their
  /// weights, the parameters of one dim, then rest whole.
  std::vector<WorkIndex> decode = {};
};

/// The table. A strategy only assigns its rows to mesh axes. The algorithms of book section 5.1 follow from it.
const std::vector<RoleRow>& strategy_table();

// Facts about a row. Planners use these, never a name.

/// Each rank of the axis has its own sequences: the batch must have tokens for all of them.
bool splits_batch(const RoleRow& row);
/// The tokens of one sequence lie on several ranks of the axis, at least between layers.
bool splits_sequences(const RoleRow& row);
/// The ranks of the axis share out the tokens of every sequence, from the embedding to the loss (context parallelism).
bool shares_sequences(const RoleRow& row);
/// A rank of the axis computes some of the experts of every layer.
bool shares_experts(const RoleRow& row);
/// It also holds the weights of these alone.
bool splits_experts(const RoleRow& row);
/// A rank of the axis has some of the heads of attention.
bool splits_heads(const RoleRow& row);
/// A rank of the axis holds a part of the weights.
bool splits_weights(const RoleRow& row);
/// A rank of the axis holds a part of the gradients and of the optimizer state.
bool splits_state(const RoleRow& row);
/// Every micro-batch splits what it adds to the sums of gradients. If not, the sums of a row that splits the batch stay
/// owed until the update.
bool splits_sums(const RoleRow& row);
/// The rows differ only in how sums lie: for one micro-batch they mean the same.
bool same_without_sums(const RoleRow& a, const RoleRow& b);
/// A rank of the axis multiplies by its own part of a weight: it splits the work by a dim of the weights'
/// split.
bool splits_products(const RoleRow& row);
/// The ranks of the axis are stages of a pipeline: each has some of the layers, and the axis splits no array.
bool makes_stages(const RoleRow& row);
/// A rank of the axis holds some places of every cache, so that attention owes sums.
bool splits_places(const RoleRow& row);
/// The row can be used so; RoleUse::both: for training and for generation.
bool serves(const RoleRow& row, RoleUse use);

/// A row of the strategy table as a value. Roles have the order of their rows.
class AxisRole {
 public:
  /// The role of this name. Throws UsageError with the names that serve `use` if there is none, or if it does not.
  static AxisRole parse(const std::string& name, RoleUse use = RoleUse::training);

  const RoleRow& row() const { return strategy_table()[number_]; }
  const std::string& name() const { return row().name; }

  auto operator<=>(const AxisRole&) const = default;

 private:
  friend std::vector<AxisRole> roles_for_use(RoleUse use);
  explicit AxisRole(std::size_t number) : number_(number) {}

  std::size_t number_;  ///< of the row
};

/// The roles that serve `use`, in the order of the table.
std::vector<AxisRole> roles_for_use(RoleUse use);
/// Those for training.
const std::vector<AxisRole>& training_roles();
/// The roles for training whose rows have `fact`, in the order of the table.
std::vector<AxisRole> roles_with(bool (*fact)(const RoleRow&));

/// The default role of an axis: the first that splits the batch and the weights.
AxisRole default_role();
/// The role of an axis between pods, which should move little: the first that splits only the batch.
AxisRole role_between_pods();
/// The role of context parallelism on an axis beside one of `role`: the first that splits the weights exactly if `role`
/// does.
AxisRole context_role(const AxisRole& role);
/// The role of the stages of a pipeline.
AxisRole stage_role();
/// The role of tensor parallelism: the first that splits products, and neither the batch nor sequences.
AxisRole tensor_role();

}  // namespace shardline
