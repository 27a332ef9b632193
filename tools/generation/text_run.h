#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/generation/generator.h"
#include "models/generation/token_choice.h"
#include "models/tokens/text_encoder.h"
#include "tools/job.h"

namespace shardline::tools {

/// How texts are continued.
struct TextRequest {
  std::vector<std::string> prompts = {};
  std::vector<std::vector<std::int32_t>> ids = {};  ///< of the prompts
  Index tokens = 0;                                 ///< the most to add to each
  ChoiceOptions choice = {};
  std::vector<std::string> stops = {};  ///< texts that end one
  std::vector<std::int32_t> ends = {};  ///< tokens that end one
};

/// What was added to a prompt.
struct ContinuedText {
  std::string text;                      ///< without the prompt, and without the string that stopped it
  std::vector<std::int32_t> tokens;      ///< without the token that ended it
  std::vector<TokenChoice> choices;      ///< of each of these tokens, if they are reported
  std::string finish_reason = "length";  ///< "length", "stop" (a string) or "end" (a token)
};

/// The texts, and when they came.
struct TextRun {
  std::vector<ContinuedText> texts;  ///< on rank 0, which chooses the tokens; empty on the others
  Seconds prefill;                   ///< of all prompts, to their logits
  Seconds first_token;               ///< until the first tokens were chosen
  Seconds reshard;                   ///< of the caches of all layers, if prefill has a state of its own
  std::vector<Seconds> steps;        ///< of decode, each to its logits
  Seconds decoding;                  ///< all steps with the choice of their tokens
  Index decoded = 0;                 ///< tokens of all steps
  double seen = 0;                   ///< the share of the places of the caches that a step saw, on average
};

/// Collective over all ranks. Prints the text of a single prompt as it comes. Rank 0 chooses each token and tells the
/// others. The last runs of the programs stay in the traces of the generator.
TextRun continue_texts(Job& job, Generator& generator, const TextEncoder& encoder, const TextRequest& request);

}  // namespace shardline::tools
