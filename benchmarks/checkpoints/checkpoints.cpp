// Saving and loading the state of a training run, beside the disk itself: one file of as many bytes, written by rank 0
// in blocks of 1 MiB and forced to the disk, as `dd bs=1M conv=fsync` does, and read again. All in turn, within one
// run. Before each reading the files leave the cache of the system.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <optional>
#include <vector>

#include "benchmarks/command_line.h"
#include "models/checkpoint/training_checkpoint.h"
#include "models/training/training.h"
#include "runtime/base/statistics.h"
#include "runtime/host/block_file.h"
#include "runtime/host/files.h"
#include "runtime/mpi/environment.h"
#include "runtime/trace/clock.h"
#include "tools/memory.h"

namespace shardline {
namespace {

constexpr Index kBlock = Index{1} << 20;

struct Arguments {
  std::string folder = "build/checkpoints-benchmark";
  double megabytes = 500;
  int rounds = 7;
};

/// A model whose weights and moments have about so many bytes.
TransformerConfig model_of(double bytes) {
  TransformerConfig config{
      .vocab = 8192, .d_model = 512, .layers = 1, .heads = 8, .kv_heads = 8, .head_dim = 64, .d_ff = 1408};
  config.tied = true;
  const double table = 12.0 * 8192 * 512;
  const double layer = 12.0 * 512 * (4.0 * 512 + 3.0 * 1408);
  config.layers = std::max<Index>(1, static_cast<Index>((bytes - table) / layer + 0.5));
  return config;
}

struct Saved {
  Saved(const mpi::Communicator& world, const Arguments& arguments)
      : mesh(AbstractMesh::parse("X=" + std::to_string(world.size())), world), engine(mesh) {
    TrainingOptions options;
    options.batch = {world.size(), 8};
    options.prices = {"any", FlopsPerSecond(1e11), BytesPerSecond(1e10), Seconds(1e-6), {}};
    for (const Axis& axis : mesh.axes().axes()) options.prices.links[axis] = {Seconds(1e-6), BytesPerSecond(1e10)};
    options.steps = 1;
    TrainingRun run{model_of(arguments.megabytes * 1e6), options, parse_strategy("fsdp=X", mesh.axes())};
    config = std::get<TransformerConfig>(run.config);
    plan = plan_training(run, mesh.axes());
    state.emplace(engine, plan.stages[0].state());
    for (const FileArray& array : parameters_of(plan.step_model.model)) fill(array.state, 1);
    for (const FileArray& array : moments_of(plan.step_model.model)) fill(array.state, 2);
  }

  void fill(const std::string& name, int salt) {
    state->fill(name, [salt](Index i) { return static_cast<double>((i * 7919 + salt) % 1000) / 1000; });
  }

  Mesh mesh;
  collectives::Engine engine;
  TransformerConfig config;
  TrainingPlan plan;
  std::optional<State> state;
};

/// Files that were written leave the cache.
void forget_files(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

double bytes_below(const std::string& folder) {
  double sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sum += static_cast<double>(entry.file_size());
  }
  return sum;
}

class Rounds {
 public:
  Rounds(const mpi::Communicator& world, Saved& saved, const Arguments& arguments)
      : world_(world),
        saved_(saved),
        arguments_(arguments),
        run_(arguments.folder + "/run"),
        plain_(arguments.folder + "/plain") {}

  void run() {
    std::vector<double> save;
    std::vector<double> write;
    std::vector<double> load;
    std::vector<double> read;
    for (int round = 0; round < arguments_.rounds; ++round) {
      save.push_back(timed([&] { save_state(); }));
      const double bytes = on_first([&] { return bytes_below(run_ + "/step-1"); });
      write.push_back(timed([&] { on_first([&] { return write_plain(bytes); }); }));
      on_first([&] { return forget_files(arguments_.folder), 0.0; });
      read.push_back(timed([&] { on_first([&] { return read_plain(bytes); }); }));
      on_first([&] { return forget_files(arguments_.folder), 0.0; });
      load.push_back(
          timed([&] { load_step(open_step(world_, run_), *saved_.state, saved_.plan.step_model.model, world_); }));
    }
    const double bytes = on_first([&] { return bytes_below(run_ + "/step-1"); });
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double resident = world_.sum(static_cast<double>(usage.ru_maxrss) * 1024);
    const double arrays = world_.sum(static_cast<double>(tensor_memory().peak));
    if (world_.rank() != 0) return;
    std::cout << fmt::format("{} ranks, {:.0f} MB, medians of {} rounds\n", world_.size(), bytes / 1e6,
                             arguments_.rounds);
    show("saving", save, "writing", write);
    show("loading", load, "reading", read);
    std::cout << fmt::format("arrays of all ranks at most {:.2f} times the state, resident {:.2f}\n", arrays / bytes,
                             resident / bytes);
  }

 private:
  static void show(const char* what, const std::vector<double>& ours, const char* other,
                   const std::vector<double>& theirs) {
    std::cout << fmt::format("{:<8} {:7.0f} ms, {} the same bytes {:7.0f} ms, ratio {:.2f}\n", what, 1e3 * median(ours),
                             other, 1e3 * median(theirs), median(ours) / median(theirs));
  }

  template <class Body>
  double timed(Body body) {
    world_.barrier();
    const Seconds begin = now();
    body();
    return world_.max((now() - begin).value);
  }

  /// The value of rank 0 on every rank.
  template <class Body>
  double on_first(Body body) {
    return std::stod(mpi::on_root(world_, 0, [&] { return fmt::format("{}", body()); }));
  }

  void save_state() {
    save_step(*saved_.state, {run_, 1}, {saved_.config, {1, 1}, {}, {.sequence = 8, .machine_hash = ""}},
              saved_.plan.step_model.model, world_);
  }

  double write_plain(double bytes) {
    WholeFile file(plain_);
    const std::vector<char> block(static_cast<std::size_t>(kBlock), 'x');
    for (double left = bytes; left > 0; left -= static_cast<double>(kBlock)) file.write(block.data(), block.size());
    file.commit();
    return 0;
  }

  double read_plain(double bytes) {
    const BlockFile file(plain_, BlockFile::Use::read);
    std::vector<char> block(static_cast<std::size_t>(kBlock));
    for (Index at = 0; static_cast<double>(at) < bytes; at += kBlock) file.read_at(at, block.data(), block.size());
    return 0;
  }

  const mpi::Communicator& world_;
  Saved& saved_;
  const Arguments& arguments_;
  std::string run_;
  std::string plain_;
};

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Saving and loading a state beside writing and reading one file", "checkpoints_benchmark");
  app.add_option("--folder", arguments.folder, "A folder that is made and removed; all ranks must see it")
      ->capture_default_str();
  app.add_option("--megabytes", arguments.megabytes, "Of weights and moments")->capture_default_str();
  app.add_option("--rounds", arguments.rounds, "Each saves, writes, reads and loads once")->capture_default_str();
  if (!parse_arguments(app, argc, argv)) return 0;
  const mpi::Communicator world = mpi::Communicator::world();
  require(mpi::on_root(world, 0, [&] { return std::filesystem::exists(arguments.folder) ? "yes" : ""; }).empty(),
          "{}: exists; the folder is removed in the end", arguments.folder);
  mpi::on_root(world, 0, [&] { return std::filesystem::create_directories(arguments.folder), std::string(); });
  {
    Saved saved(world, arguments);
    Rounds(world, saved, arguments).run();
  }
  mpi::on_root(world, 0, [&] { return std::filesystem::remove_all(arguments.folder), std::string(); });
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  shardline::tools::keep_freed_memory();
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run(argc, argv); });
}
