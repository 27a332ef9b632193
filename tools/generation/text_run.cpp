#include "tools/generation/text_run.h"

#include <algorithm>
#include <cstring>

#include "models/generation/stop_text.h"

namespace shardline::tools {
namespace {

/// Runs whose times are kept, and after how many steps the others are forgotten.
constexpr std::size_t kKeptRuns = 32;
constexpr std::size_t kForgotten = 64;

/// One text as it grows.
struct Growing {
  explicit Growing(const TextRequest& request, std::size_t number) : ids(request.ids[number]), watch(request.stops) {}

  std::vector<std::int32_t> ids;  ///< with those of the prompt
  StopText watch;
  bool ended = false;
};

class Continuation {
 public:
  Continuation(Job& job, Generator& generator, const TextEncoder& encoder, const TextRequest& request)
      : job_(job),
        generator_(generator),
        encoder_(encoder),
        request_(request),
        chooser_(request.choice, generator.plan().vocabulary(),
                 [&encoder](std::int32_t id) { return encoder.has(id); }) {
    for (std::size_t b = 0; b < request.ids.size(); ++b) growing_.emplace_back(request, b);
    if (job.root()) run_.texts.resize(request.ids.size());
  }

  /// An error in the middle of a text stands on a line of its own.
  TextRun run() {
    if (!shows()) return grow();
    job_.print(request_.prompts[0]);
    try {
      TextRun made = grow();
      job_.print("\n");
      return made;
    } catch (...) {
      job_.print("\n");
      throw;
    }
  }

 private:
  TextRun grow() {
    const Seconds begin = now();
    const Tensor* logits = &generator_.prefill(request_.ids);
    run_.prefill = now() - begin;
    std::vector<std::int32_t> next = choose(*logits);
    run_.first_token = now() - begin;
    const Seconds chosen = now();
    generator_.reshard();
    if (generator_.resharder() != nullptr) run_.reshard = now() - chosen;
    while (Index count = going_on(next)) {
      const Seconds start = now();
      logits = &generator_.decode(next);
      run_.steps.push_back(now() - start);
      run_.decoded += count;
      add_seen(next);
      next = choose(*logits);
      run_.decoding += now() - start;
      if (run_.steps.size() % kForgotten == 0) generator_.decoder().keep_times(kKeptRuns);
    }
    if (!run_.steps.empty()) run_.seen /= static_cast<double>(run_.steps.size());
    return std::move(run_);
  }

  bool shows() const { return request_.ids.size() == 1; }

  static Index going_on(const std::vector<std::int32_t>& next) {
    return std::count_if(next.begin(), next.end(), [](std::int32_t token) { return token >= 0; });
  }

  /// The places that the texts with a token saw in the last step.
  void add_seen(const std::vector<std::int32_t>& next) {
    double places = 0;
    for (std::size_t b = 0; b < next.size(); ++b) {
      if (next[b] >= 0) places += static_cast<double>(generator_.lengths()[b]);
    }
    run_.seen += places / static_cast<double>(generator_.plan().form().context) / static_cast<double>(next.size());
  }

  /// Collective over all ranks: the next token of each text; -1 for one that has ended. Rank 0 chooses, so that ranks
  /// on unlike processors cannot part.
  std::vector<std::int32_t> choose(const Tensor& logits) {
    std::vector<std::int32_t> next(growing_.size(), -1);
    const std::string chosen = mpi::on_root(job_.world(), 0, [&] {
      for (std::size_t b = 0; b < growing_.size(); ++b) {
        if (!growing_[b].ended) next[b] = add_token(b, logits.rows({static_cast<Index>(b), static_cast<Index>(b) + 1}));
      }
      std::string bytes(next.size() * sizeof next[0], '\0');
      std::memcpy(bytes.data(), next.data(), bytes.size());
      return bytes;
    });
    std::memcpy(next.data(), chosen.data(), chosen.size());
    return next;
  }

  /// Adds a token to text `b`. Returns it, or -1 if the text has ended.
  std::int32_t add_token(std::size_t b, const Tensor& logits) {
    Growing& growing = growing_[b];
    ContinuedText& text = run_.texts[b];
    if (static_cast<Index>(text.tokens.size()) == request_.tokens) return end(b, "length");
    const TokenChoice& choice = choice_of(growing, b, logits);
    const std::int32_t token = choice.chosen.token;
    if (std::find(request_.ends.begin(), request_.ends.end(), token) != request_.ends.end()) return end(b, "end");
    growing.ids.push_back(token);
    text.tokens.push_back(token);
    if (request_.choice.likeliest > 0) text.choices.push_back(choice);
    give_out(text, growing.watch.add(encoder_.decode({token})));
    if (growing.watch.stopped_by()) return end(b, "stop");
    const bool full = static_cast<Index>(growing.ids.size()) == generator_.plan().form().context;
    if (full || static_cast<Index>(text.tokens.size()) == request_.tokens) return end(b, "length");
    return token;
  }

  const TokenChoice& choice_of(const Growing& growing, std::size_t b, const Tensor& logits) {
    const auto position = static_cast<Index>(growing.ids.size());
    const double uniform = choice_uniform(job_.seed(), static_cast<Index>(b), position);
    if (logits.dtype() == DType::f64) {
      const View<const double> values = logits.view<double>();
      return chooser_.choose(std::span(values.data, values.data + values.size()), growing.ids, uniform);
    }
    const View<const float> values = logits.view<float>();
    return chooser_.choose(std::span(values.data, values.data + values.size()), growing.ids, uniform);
  }

  std::int32_t end(std::size_t b, const char* reason) {
    give_out(run_.texts[b], growing_[b].watch.end());
    run_.texts[b].finish_reason = reason;
    growing_[b].ended = true;
    return -1;
  }

  void give_out(ContinuedText& text, const std::string& bytes) {
    text.text += bytes;
    if (shows()) job_.print(bytes);
  }

  Job& job_;
  Generator& generator_;
  const TextEncoder& encoder_;
  const TextRequest& request_;
  TokenChooser chooser_;
  std::vector<Growing> growing_;
  TextRun run_;
};

}  // namespace

TextRun continue_texts(Job& job, Generator& generator, const TextEncoder& encoder, const TextRequest& request) {
  return Continuation(job, generator, encoder, request).run();
}

}  // namespace shardline::tools
