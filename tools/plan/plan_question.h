#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/planning/closed_form.h"
#include "models/planning/plan_search.h"
#include "models/planning/planned_step.h"
#include "tools/job.h"

namespace shardline::tools {

constexpr Index kMostChips = Index{1} << 24;

/// The options of `plan --generate` as typed.
struct GenerateOptions {
  bool asked = false;
  Index prompt_tokens = 8192;
  Index new_tokens = 512;
  std::optional<Index> context;      ///< tokens in each cache; default: prompt and new tokens
  std::optional<Index> batch;        ///< default: all sequences that fit
  std::string cache_dtype;           ///< empty: bf16 beside bf16, int8 beside int8 and int4
  std::optional<double> step_limit;  ///< seconds
  std::string plot;
};

/// The options as typed.
struct PlanOptions {
  CommonOptions common;
  std::string dtype;  ///< empty: bf16 on chips, otherwise f32
  std::string model;
  std::string hardware = "v5p";
  std::string strategy;
  std::string torus;
  std::optional<Index> chips;  ///< of all pods; else from mesh or torus
  std::string batch_tokens = "4M";
  Index sequence = 4096;
  double tokens = 15e12;      ///< of the whole training
  double utilisation = 0.4;   ///< share of the chips' peak, for the days of training
  double price_per_hour = 0;  ///< of a chip; 0: not known
  Index pods = 1;
  std::optional<Index> stages;         ///< of pipelines
  std::optional<Index> micro_batches;  ///< of a step
  std::string timetable;               ///< of stages; empty: the fastest
  std::string remat;                   ///< empty: what repeats least and fits
  std::optional<double> capacity;      ///< of experts, see BatchShape; default 1.25
  std::string report;
  GenerateOptions generate;
};

/// What --hardware or --machine names.
struct NamedHardware {
  std::string name;                      ///< of a catalogue, a file or "cpu"
  const roofline::Chip* chip = nullptr;  ///< of the catalogue
  std::optional<GivenMachine> given;     ///< of a file

  /// A remark if these are more chips than a pod joins; empty if they are not.
  std::string remark_on_pod(Index chips) const;
};

/// Throws UsageError for unknown names and unreadable files.
NamedHardware named_hardware(const PlanOptions& options);

/// The question, with all names looked up and all numbers checked.
struct PlanQuestion {
  PlannedRun run;
  Index chips = 0;  ///< of a pod
  ClosedFormQuery closed;
  std::string hardware_name;  ///< of NamedHardware, as the next two
  const roofline::Chip* chip = nullptr;
  std::optional<GivenMachine> given;
  std::vector<ChipMesh> meshes;       ///< to search, pods included
  std::vector<ChipMesh> staged;       ///< the same with an axis of stages, unless one mesh is given
  std::vector<ChipMesh> for_experts;  ///< the same with an axis that splits experts, unless mesh or torus is given
  bool fixed = false;                 ///< mesh or torus were given
  BytesPerSecond link;                ///< one torus axis, both ways; or the slowest link
  std::vector<std::string> remarks;

  /// What to search: meshes, the mesh's strategy if one is given, and the form of the step as far as it is given.
  PlanSpace space(const PlanOptions& options) const;
  /// All meshes to search.
  std::array<std::vector<ChipMesh>*, 3> searched() { return {&meshes, &staged, &for_experts}; }
  /// The hardware of the ranks of one of the meshes.
  roofline::Hardware hardware_of(const ChipMesh& mesh) const;
};

/// Throws UsageError, one line, for options that do not fit together.
PlanQuestion question_of(const PlanOptions& options);

}  // namespace shardline::tools
