#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/planning/generation_ways.h"
#include "tools/plan/generate_question.h"
#include "tools/report/page.h"

namespace shardline::tools {

/// One layer of decode in 1D and in 2D (book exercise 7.7).
struct AxesAnswer {
  SentByWay one;                     ///< caches by batch beyond as many chips as key-value heads
  SentByWay two;                     ///< that which sends least
  std::optional<Index> least_chips;  ///< from which on 2D sends less; none up to kMostChipsCompared
};

/// What `plan --generate` says of derived programs, beside the closed form.
struct DerivedAnswer {
  std::string left_out;  ///< parts of the model that no program has; empty: there are programs
  std::vector<DerivedGeneration>
      ways;                        ///< those that fit first, then the fastest; none if the chip's torus is too small
  std::optional<AxesAnswer> axes;  ///< none of fewer than four chips, and none without programs

  /// True if a rank has room for it, or if its memory is not known.
  static bool fits(const GenerateQuestion& question, const DerivedGeneration& way);
};

/// The largest number of chips that AxesAnswer::least_chips looks at.
inline constexpr Index kMostChipsCompared = 256;

/// The strategies in 1D, the fastest in 2D, and data parallelism, on the chips of a server. `utilisation`: the share of
/// the peak that prefill reaches.
DerivedAnswer derived_answer_of(const GenerateQuestion& question, double utilisation);

/// The line about the fastest, for the summary; empty if nothing is derived.
std::string derived_summary_text(const GenerateQuestion& question, const DerivedAnswer& answer);
/// The table of all ways, and exercise 7.7.
std::string derived_text(const GenerateQuestion& question, const DerivedAnswer& answer);
/// The array `derived` of a record.
Json derived_json(const GenerateQuestion& question, const DerivedAnswer& answer);
/// Exercise 7.7 in a record; null if it was not compared.
Json derived_axes_json(const DerivedAnswer& answer);
/// The table on a page.
Section derived_section(const GenerateQuestion& question, const DerivedAnswer& answer);

}  // namespace shardline::tools
