#include "tools/output/words.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace shardline::tools {
namespace {

struct Word {
  const char* shown;    ///< the begin of its explanation
  const char* written;  ///< its form in the text, with no letter or digit before or after it
  const char* kind;     ///< its form in a table of kinds, at the begin of a line; null for none
  const char* meaning;
};

constexpr std::array kWords = {
    Word{"T_math", "T_math", nullptr,
         "what computing takes on the busiest rank; where memory binds, what its reads and writes take"},
    Word{"T_comms", "T_comms", nullptr, "what moving data between ranks takes on the busiest link"},
    Word{"exposed", "exposed", nullptr,
         "time in which a rank only started a collective or waited for it; waiting for ranks that are late counts"},
    Word{"Reshard", "Reshard_", "reshard ",
         "the ranks exchange blocks until each has those of the new sharding; no single other collective does that"},
    Word{"Owe", "Owe_", "owe ",
         "one rank keeps the value and the others hold zeros, so that a sum over the axis is owed; nothing moves"},
    Word{"wire exchange", "over wire exchange", nullptr,
         "each rank gets all bf16 parts of its block, adds them in f32 and rounds once"},
    Word{"wire f32", "over wire f32", nullptr, "partial sums travel as f32 and are rounded to bf16 once, at the end"},
    Word{"wire hop", "over wire hop", nullptr, "partial sums travel as bf16 and are rounded at every hop"},
};

bool in_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool has_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !in_a_word(text[at - 1]);
    const bool ends = word.back() == '_' || end == text.size() || !in_a_word(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

bool has_kind(const std::string& text, const std::string& kind) {
  return ("\n" + text).find("\n" + kind) != std::string::npos;
}

}  // namespace

std::string explained_words(const std::string& text) {
  std::string explained;
  for (const Word& word : kWords) {
    if (!has_word(text, word.written) && (word.kind == nullptr || !has_kind(text, word.kind))) continue;
    explained += fmt::format("{}: {}\n", word.shown, word.meaning);
  }
  return explained;
}

}  // namespace shardline::tools
