#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "models/parity/fault.h"
#include "models/parity/generation_layout.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// The largest difference of logits that parity allows in f32, relative to the largest magnitude of the logits that a
/// token is chosen from. In f64 it is kParityTolerance.
constexpr double kSingleTolerance = 1e-5;

/// What follows some prompts, the likeliest token each time.
struct GreedyTexts {
  std::vector<std::vector<std::int32_t>> tokens;         ///< of each text
  std::vector<std::vector<std::vector<double>>> logits;  ///< of each text and token: those that it was chosen from
};

/// A token that is another one than in the texts that were wanted.
struct TokenDifference {
  Index text = 0;
  Index token = 0;  ///< number in the text, without the prompt
  std::int32_t wanted = 0;
  std::int32_t made = 0;
  /// The logit of `wanted` less that of `made`, as they were wanted, relative to the largest magnitude.
  double gap = 0;

  /// Differences within kSingleTolerance explain it.
  bool within_rounding() const { return gap <= 2 * kSingleTolerance; }
};

/// How texts differ from those wanted. A text is compared up to its first other token, with the logits of that.
struct TextDifference {
  double logits = 0;                          ///< the largest, relative; infinity: not a number
  std::optional<TokenDifference> first = {};  ///< that with the least number
};

/// Throws Error if the numbers of texts, tokens or logits are not the same.
TextDifference difference_of(const GreedyTexts& wanted, const GreedyTexts& made);

/// The texts of one rank in both types, which every layout of their task must give.
struct GenerationReference {
  GreedyTexts f64;
  GreedyTexts f32;
};

/// Collective over all ranks of the job; each makes them for itself.
std::map<ParityTask, GenerationReference> generation_references();

/// The distance of a layout from one rank.
struct GenerationDifference {
  TextDifference f64;
  std::optional<TextDifference> f32 = {};  ///< none: not compared, as a fault was given
  bool planted = false;                    ///< the layout had a place for the fault

  /// In f64 the same texts; in f32, if compared, another one only within rounding.
  bool passes() const;
};

/// Collective over `comm`, which has as many ranks as the mesh of `layout`: generates under the layout, with a fault or
/// none, and compares with the reference of its task. The same on all ranks.
GenerationDifference compare_generation(const mpi::Communicator& comm, const GenerationLayout& layout,
                                        const GenerationReference& reference, const Fault* fault = nullptr);

}  // namespace shardline
