#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/planning/generation_frontier.h"
#include "tools/plan/plan_question.h"

namespace shardline::tools {

/// The type of stored weights or caches: "int8", 1 byte.
struct StoredType {
  std::string name;
  Bytes element;
};

/// f32, bf16, int8 or int4. Throws UsageError with the legal types of `option`.
StoredType stored_type(const std::string& option, const std::string& name, const std::vector<std::string>& legal);

/// The question of `plan --generate`, with all names looked up and all numbers checked.
struct GenerateQuestion {
  TransformerConfig config;
  NamedHardware hardware;
  StoredType weights;
  StoredType caches;
  std::string products;  ///< the type that multiplies
  Index chips = 1;       ///< of a server
  Index batch = 1;
  Index prompt_tokens = 0;
  Index new_tokens = 0;
  Index context = 0;
  FrontierQuery frontier;
  std::vector<Index> slices;  ///< the numbers of chips of the frontier
  std::vector<std::string> remarks;

  /// True if ranks can be joined.
  bool has_links() const { return !hardware.given || !hardware.given->machine.axes.empty(); }
  bool knows_memory() const { return frontier.chip.capacity.value > 0; }
  /// The hardware of the ranks of a mesh, for the type that multiplies.
  roofline::Hardware hardware_of(const ChipMesh& mesh) const;
  DType products_type() const { return products == "bf16" ? DType::bf16 : DType::f32; }
  /// Of the caches of programs: none has int8, and these then have the type that multiplies.
  DType caches_type() const {
    return caches.name == "bf16" ? DType::bf16 : caches.name == "f32" ? DType::f32 : products_type();
  }
  /// The query with weights and caches in another type.
  FrontierQuery stored_in(const StoredType& type) const;
};

/// Throws UsageError, one line, for options that do not fit together, and if the chips do not hold the weights and one
/// cache: then it says how many do.
GenerateQuestion generate_question_of(const PlanOptions& options);

}  // namespace shardline::tools
