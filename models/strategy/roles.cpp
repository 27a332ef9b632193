#include "models/strategy/roles.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool has_dim(const std::vector<std::string>& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

/// True if the axis splits this index in some operations.
bool works_on(const RoleRow& row, const std::string& index) {
  return std::any_of(row.work.begin(), row.work.end(), [&](const WorkIndex& work) { return work.index == index; });
}

AxisRole first_with(bool (*fact)(const RoleRow&)) {
  const std::vector<AxisRole> roles = roles_with(fact);
  SHARDLINE_CHECK(!roles.empty(), "the strategy table has {} rows, none of the kind wanted", strategy_table().size());
  return roles.front();
}

}  // namespace

const std::vector<RoleRow>& strategy_table() {
  static const std::vector<RoleRow> kTable = {
      // role    parameters       gradients, state  sums             stream tokens work                       caches
      {"dp", {}, {}, {}, {"B"}, {"B"}, {"B"}, {"B"}},
      {"zero1", {}, {"D"}, {}, {"B"}, {"B"}, {"B"}, {"B"}},
      {"zero2", {}, {"D"}, {"D"}, {"B"}, {"B"}, {"B"}, {"B"}},
      {"fsdp", {"D"}, {"D"}, {"D"}, {"B"}, {"B"}, {"B"}, {"B"}},
      {"tp",
       {"F", "K", "V"},
       {"F", "K", "V"},
       {"F", "K", "V"},
       {"D"},
       {},
       {"F", "K", "V", "D"},
       {"K"},
       RoleUse::both,
       {{"rms_norm", ""}}},
      {"tp_seq", {"F", "K", "V"}, {"F", "K", "V"}, {"F", "K", "V"}, {"T"}, {}, {"F", "K", "V", "T"}, {"K"}},
      {"tp_g", {"F", "G", "V"}, {"F", "G", "V"}, {"F", "G", "V"}, {"T"}, {}, {"F", "G", "V", "T"}},
      {"cp", {}, {}, {}, {"T"}, {"T"}, {{"dispatch", "E"}, {"combine", "E"}, "T", "E"}},
      {"cp_fsdp", {"D"}, {"D"}, {"D"}, {"T"}, {"T"}, {{"dispatch", "E"}, {"combine", "E"}, "T", "E"}},
      {"cp_heads",
       {},
       {},
       {},
       {"T"},
       {"T"},
       {{"attention", "K"}, {"einsum", "T"}, {"dispatch", "E"}, {"combine", "E"}, "T", "E"}},
      {"ep", {"E"}, {"E"}, {"E"}, {"B"}, {"B"}, {{"dispatch", "B"}, {"combine", "B"}, "E", "B"}, {"B"}},
      {"ep_fsdp",
       {"E", "D"},
       {"E", "D"},
       {"E", "D"},
       {"B"},
       {"B"},
       {{"dispatch", "B"}, {"combine", "B"}, "E", "B"},
       {"B"}},
      {"tp_ep",
       {"E", "K", "V"},
       {"E", "K", "V"},
       {"E", "K", "V"},
       {"T"},
       {},
       {{"dispatch", "E"}, {"combine", "E"}, "E", "K", "V", "T"},
       {"K"}},
      // Splits the layers, and no array.
      {"pp", {}, {}, {}, {}, {}, {}, {}, RoleUse::training},
      // Rows of generation (book sections 7.3 and 7.6): few tokens pass, so the stream stays whole.
      {"tp_rep", {"F", "K", "V"}, {}, {}, {}, {}, {"F", "K", "V"}, {"K"}, RoleUse::generation},
      {"ep_rep",
       {"E", "K", "V"},
       {},
       {},
       {},
       {},
       {{"dispatch", "E"}, {"combine", "E"}, "E", "K", "V"},
       {"K"},
       RoleUse::generation},
      // Beside one of these on K, where ranks are more than key-value heads: caches by sequence, or by place.
      {"rep_b", {"F", "G", "V"}, {}, {}, {}, {}, {{"cache_attention", "B"}, "F", "G", "V"}, {"B"}, RoleUse::generation},
      {"rep_s",
       {"F", "G", "V"},
       {},
       {},
       {},
       {},
       {{"cache_attention", "S"}, {"cache_divide", "G"}, "F", "G", "V"},
       {"S"},
       RoleUse::generation},
      // Weights stay where they are, split in both dims together with tp or tp_rep on another axis.
      {"ws",
       {"D"},
       {},
       {},
       {"D"},
       {},
       {{"silu_mul", "B"}, {"gelu_mul", "B"}, {"gelu", "B"}, "D"},
       {"B"},
       RoleUse::generation},
      // Prefill: the tokens of a prompt are split.
      {"cp_s",
       {},
       {},
       {},
       {"T"},
       {"T"},
       {{"cache_attention", "S"}, {"cache_divide", "T"}, {"dispatch", "E"}, {"combine", "E"}, "T", "E"},
       {"S"},
       RoleUse::generation},
  };
  return kTable;
}

bool splits_batch(const RoleRow& row) { return has_dim(row.tokens, "B"); }

bool splits_sequences(const RoleRow& row) {
  return has_dim(row.tokens, "T") || has_dim(row.stream, "T") || works_on(row, "T");
}

bool shares_sequences(const RoleRow& row) { return has_dim(row.tokens, "T"); }

bool shares_experts(const RoleRow& row) { return works_on(row, "E"); }

bool splits_experts(const RoleRow& row) { return has_dim(row.parameters, "E"); }

bool splits_heads(const RoleRow& row) { return works_on(row, "K"); }

bool splits_weights(const RoleRow& row) { return !row.parameters.empty(); }

bool splits_state(const RoleRow& row) { return !row.gradients.empty(); }

bool splits_sums(const RoleRow& row) { return !row.sums.empty(); }

bool same_without_sums(const RoleRow& a, const RoleRow& b) {
  const auto others = [](const RoleRow& row) {
    return std::tie(row.parameters, row.gradients, row.stream, row.tokens, row.work);
  };
  return others(a) == others(b);
}

bool splits_products(const RoleRow& row) {
  return std::any_of(row.parameters.begin(), row.parameters.end(),
                     [&](const std::string& dim) { return works_on(row, dim); });
}

bool makes_stages(const RoleRow& row) {
  return row.parameters.empty() && row.gradients.empty() && row.sums.empty() && row.stream.empty() &&
         row.tokens.empty() && row.work.empty() && row.caches.empty();
}

bool splits_places(const RoleRow& row) { return has_dim(row.caches, "S"); }

bool serves(const RoleRow& row, RoleUse use) { return row.use == RoleUse::both || row.use == use; }

AxisRole AxisRole::parse(const std::string& name, RoleUse use) {
  std::vector<std::string> names;
  for (const AxisRole& role : roles_for_use(use)) {
    if (role.name() == name) return role;
    names.push_back(role.name());
  }
  const auto named = [&](const RoleRow& row) { return row.name == name; };
  const bool known = std::any_of(strategy_table().begin(), strategy_table().end(), named);
  const char* of_use = use == RoleUse::generation ? "generation" : "training";
  if (known) usage_error("role \"{}\" is not for {}; its roles are {}", name, of_use, fmt::join(names, ", "));
  usage_error("unknown role \"{}\" in a strategy; roles are {}", name, fmt::join(names, ", "));
}

std::vector<AxisRole> roles_for_use(RoleUse use) {
  std::vector<AxisRole> roles;
  for (std::size_t number = 0; number < strategy_table().size(); ++number) {
    if (serves(strategy_table()[number], use)) roles.push_back(AxisRole(number));
  }
  return roles;
}

const std::vector<AxisRole>& training_roles() {
  static const std::vector<AxisRole> kRoles = roles_for_use(RoleUse::training);
  return kRoles;
}

std::vector<AxisRole> roles_with(bool (*fact)(const RoleRow&)) {
  std::vector<AxisRole> roles;
  for (const AxisRole& role : training_roles()) {
    if (fact(role.row())) roles.push_back(role);
  }
  return roles;
}

AxisRole default_role() {
  return first_with([](const RoleRow& row) { return splits_batch(row) && splits_weights(row); });
}

AxisRole role_between_pods() {
  return first_with([](const RoleRow& row) { return splits_batch(row) && !splits_weights(row) && !splits_state(row); });
}

AxisRole context_role(const AxisRole& role) {
  if (splits_weights(role.row())) {
    return first_with([](const RoleRow& row) { return shares_sequences(row) && splits_weights(row); });
  }
  return first_with([](const RoleRow& row) { return shares_sequences(row) && !splits_weights(row); });
}

AxisRole stage_role() { return first_with(makes_stages); }

AxisRole tensor_role() {
  return first_with(
      [](const RoleRow& row) { return splits_products(row) && !splits_batch(row) && !splits_sequences(row); });
}

}  // namespace shardline
