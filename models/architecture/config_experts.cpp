#include "models/architecture/config_experts.h"

#include <fmt/format.h>

#include "models/architecture/config_keys.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr const char* kCount = "num_local_experts";
constexpr const char* kChosen = "num_experts_per_tok";
constexpr const char* kBalances = "output_router_logits";
constexpr const char* kBalance = "router_aux_loss_coef";
constexpr double kUsualBalance = 0.001;

}  // namespace

void look_at_experts(const ConfigReader& reader, std::vector<ConfigDifference>& found) {
  if (reader.type().experts > 0) {
    if (reader.has("hidden_act") && reader.object().at("hidden_act") == kGeglu) {
      found.push_back({"hidden_act", kGeglu, "with experts only \"silu\" is implemented"});
    }
    return;
  }
  for (const char* key : {kChosen, kBalances, kBalance}) {
    if (!reader.has(key)) continue;
    found.push_back({key, reader.object().at(key), fmt::format("{} has no experts", reader.type().name)});
  }
}

Experts read_experts(ConfigReader& reader) {
  const ModelType& type = reader.type();
  for (const char* key : {kCount, "num_experts", "n_routed_experts"}) {
    if (!reader.has(key) || (type.experts > 0 && key == kCount)) continue;
    reader.refuse(key, reader.object().at(key),
                  type.experts > 0
                      ? fmt::format("the key of {} is {}", type.name, kCount)
                      : fmt::format("experts of {} are not implemented, only those of mixtral are", type.name));
  }
  if (type.experts == 0) return {};
  Experts experts{.count = reader.noted_size(kCount, type.experts), .chosen = reader.noted_size(kChosen, type.chosen)};
  require(experts.chosen <= experts.count, "{}: {} is {} and {} is {}; the first must be from 1 to the second",
          reader.name(), kChosen, experts.chosen, kCount, experts.count);
  const double balance = reader.number(kBalance, kUsualBalance, 0, 100);
  if (reader.flag(kBalances, false)) experts.balance = balance;
  return experts;
}

void add_experts(const Experts& experts, nlohmann::ordered_json& keys) {
  keys[kCount] = experts.count;
  keys[kChosen] = experts.chosen;
  keys[kBalances] = experts.balance > 0;
  keys[kBalance] = experts.balance > 0 ? experts.balance : kUsualBalance;
}

}  // namespace shardline
