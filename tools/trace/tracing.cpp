#include "tools/trace/tracing.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/host/files.h"
#include "runtime/mpi/request.h"
#include "tools/job_machine.h"
#include "tools/output/output.h"
#include "tools/trace/trace_check.h"

namespace shardline::tools {
namespace {

Seconds earliest(const mpi::Communicator& comm, Seconds time) { return Seconds(comm.min(time.value)); }

Index total(const mpi::Communicator& comm, Index mine) {
  return static_cast<Index>(comm.sum(static_cast<double>(mine)));
}

void append(WholeFile& file, const std::string& text) { file.write(text.data(), text.size()); }

/// The file of a rank that stops early.
std::string part_of(const std::string& path, int rank) { return fmt::format("{}.rank{}.part", path, rank); }

/// The time of each span on this rank alone.
std::vector<JointTime> own_times(const std::vector<Span>& spans, const ClockAlignment& clock, Index rank) {
  std::vector<JointTime> times;
  for (const Span& span : spans) times.push_back({span.end - span.begin, clock.common(span.begin), rank});
  return times;
}

}  // namespace

void add_trace_files(CommandFiles& files, const std::string& path) {
  if (path.empty()) return;
  require(path != kStandardOutput, "--trace -: a trace is read back, so it needs a file; ./- is one of that name");
  files.outputs.push_back({"--trace", "trace", path});
  for (int rank = 0; rank < mpi::Communicator::world().size(); ++rank) {
    files.more_outputs.push_back({"--trace", "trace", part_of(path, rank)});
  }
}

Tracing::Tracing(Job& job, std::string path, const Trace& trace, collectives::Engine& engine,
                 std::optional<TracedStage> stage)
    : job_(job),
      path_(std::move(path)),
      trace_(trace),
      engine_(engine),
      stage_(std::move(stage)),
      recording_({}),
      begin_(earliest(job.world(), trace.clock().common(now()))),
      exceptions_(std::uncaught_exceptions()) {}

Tracing::~Tracing() {
  if (std::uncaught_exceptions() > exceptions_ && !written_) leave_part();
}

std::string Tracing::part_path() const { return part_of(path_, job_.world().rank()); }

RankTitle Tracing::title() const {
  const Mesh& mesh = job_.mesh();
  std::string name = stage_ ? fmt::format("stage {}, ", stage_->stage) : "";
  name += fmt::format("rank {} ({}", mesh.rank(), host_name());
  for (std::size_t i = 0; i < mesh.coordinates().size(); ++i) {
    name += fmt::format(", {}={}", mesh.axes().axes()[i], mesh.coordinates()[i]);
  }
  const Seconds uncertainty = trace_.clock().uncertainty();
  return {mesh.rank(), name + ")", fmt::format("clock within {} of rank 0's", to_string(uncertainty))};
}

/// Without what only all ranks together know.
RankStory Tracing::story(std::vector<const Recording::Run*> runs) const {
  RankStory story{.mesh = job_.mesh().axes(),
                  .rank = job_.mesh().rank(),
                  .trace = &trace_,
                  .runs = std::move(runs),
                  .joint = {},
                  .zero = begin_,
                  .stage = stage_ ? &*stage_ : nullptr};
  for (const Recording::Run* run : story.runs) story.begins.push_back(trace_.clock().common(run->time.begin));
  return story;
}

void Tracing::leave_part() noexcept {
  if (path_.empty() || recording_.runs().empty()) return;
  try {
    std::vector<const Recording::Run*> runs;
    for (const Recording::Run& run : recording_.runs()) runs.push_back(&run);
    RankStory story = this->story(std::move(runs));
    story.joint = own_times(spans_of(story.runs), trace_.clock(), story.rank);
    TraceCount count;
    const Json other_data{{"schema", "shardline.trace-part/1"}, {"rank", story.rank}, {"time_zero_s", begin_.value}};
    WholeFile file(part_path());
    append(file, text_before(other_data) + text_of(title(), events_of(story), count) + text_after());
    file.commit();
    fmt::print(stderr, "shardline: rank {}: its part of the trace is in {}\n", story.rank, part_path());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardline: rank %d: no trace: %s\n", job_.world().rank(), error.what());
  }
}

/// Collective over all ranks: the runs that every rank still has.
std::vector<const Recording::Run*> Tracing::runs_of_all() const {
  const auto& kept = recording_.runs();
  const double first = job_.world().max(kept.empty() ? 0 : static_cast<double>(kept.front().number));
  std::vector<const Recording::Run*> runs;
  for (const Recording::Run& run : kept) {
    if (static_cast<double>(run.number) >= first) runs.push_back(&run);
  }
  return runs;
}

/// Collective over all ranks.
Json Tracing::other_data(const std::string& command, const std::vector<const Recording::Run*>& runs) const {
  Json data = job_.header("shardline.trace/1", command);
  data["clock_uncertainty_s"] = job_.world().all_gather(trace_.clock().uncertainty().value);
  if (!runs.empty()) {
    data["steps"] = {
        {"first", runs.front()->number}, {"last", runs.back()->number}, {"dropped", runs.front()->number - 1}};
  }
  return data;
}

/// Collective over all ranks: rank 0 writes the begin and the end of the file, and the ranks' texts
/// one by one between them. Returns on all ranks why the file cannot be written. Rank 0 receives
/// the texts in any case.
std::string Tracing::write_file(const Json& other_data, const std::shared_ptr<const std::string>& mine) const {
  const mpi::Communicator& comm = job_.world();
  const std::vector<double> sizes = comm.all_gather(static_cast<double>(mine->size()));
  const int tag = comm.next_tag();
  mpi::Request sent;
  if (comm.rank() != 0) {
    const auto* bytes = reinterpret_cast<const std::byte*>(mine->data());
    sent = mpi::isend(comm, {bytes, static_cast<Index>(mine->size()), mine}, {0, tag});
  }
  const std::string fault = mpi::on_root(comm, 0, [&] {
    std::string failure;
    const auto attempt = [&failure](const auto& step) {
      if (!failure.empty()) return;
      try {
        step();
      } catch (const Error& error) {
        failure = error.what();
      }
    };
    std::optional<WholeFile> file;
    attempt([&] {
      file.emplace(path_);
      append(*file, text_before(other_data) + *mine);
    });
    for (int rank = 1; rank < comm.size(); ++rank) {
      std::string text(static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)]), '\0');
      auto* bytes = reinterpret_cast<std::byte*>(text.data());
      mpi::irecv(comm, {bytes, static_cast<Index>(text.size()), nullptr}, {rank, tag}).wait();
      attempt([&] { append(*file, ",\n" + text); });
    }
    attempt([&] {
      append(*file, text_after());
      file->commit();
    });
    return failure;
  });
  sent.wait();
  return fault;
}

bool Tracing::write(const std::string& command) {
  if (path_.empty()) return true;
  const mpi::Communicator& comm = job_.world();
  RankStory story = this->story(runs_of_all());
  story.joint = joint_times(trace_.labels(), spans_of(story.runs), trace_.clock(), engine_);
  for (Seconds& begin : story.begins) begin = earliest(comm, begin);
  story.zero = story.runs.empty() ? earliest(comm, begin_) : story.begins.front();
  TraceCount count;
  const std::string unwritten = write_file(
      other_data(command, story.runs), std::make_shared<const std::string>(text_of(title(), events_of(story), count)));
  written_ = true;
  if (!unwritten.empty()) {
    job_.note(unwritten);
    return false;
  }
  std::remove(part_path().c_str());  // from a signal, or from an earlier run

  const TraceCount all{total(comm, count.processes), total(comm, count.slices), total(comm, count.arrows)};
  const std::string fault = mpi::on_root(comm, 0, [&] { return fault_of_trace(path_, all); });
  const Index last = story.runs.empty() ? 0 : story.runs.back()->number;
  const auto kept = static_cast<Index>(story.runs.size());
  const std::string older = kept < last ? fmt::format(", older ones than the last {} were dropped", kept) : "";
  job_.note(fmt::format("trace of {} steps in {}: {} slices, {} arrows{}", kept, path_, all.slices, all.arrows, older));
  if (!fault.empty()) job_.note(fmt::format("the trace in {} is not right: {}", path_, fault));
  return fault.empty();
}

}  // namespace shardline::tools
