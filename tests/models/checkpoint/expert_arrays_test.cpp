// Arrays of experts: one array of the state is a tensor for each expert in a file. Files are made and read by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/digests.h"
#include "models/checkpoint/step_folders.h"
#include "models/checkpoint/stored_form.h"
#include "models/checkpoint/tensor_files.h"
#include "models/checkpoint/training_checkpoint.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"
#include "runtime/layout/notation.h"
#include "tests/models/checkpoint/hand_made_file.h"
#include "tests/models/small_training.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

using Named = std::vector<std::pair<std::string, HandMadeTensor>>;

constexpr const char* kPrefix = "model.layers.0.block_sparse_moe.";

const TransformerConfig kConfig{.layers = 1, .experts = {.count = 3, .chosen = 2}};

struct Sizes {
  Index e = 3;
  Index d = 5;
  Index f = 7;
};

/// The router and the experts of one layer, with moments.
Model expert_model(const Sizes& sizes = {}) {
  Model model;
  model.program.sizes = {{"E", sizes.e}, {"R", sizes.e}, {"D", sizes.d}, {"F", sizes.f}};
  const auto add = [&](const char* name, const char* tensor, const std::vector<std::string>& dims) {
    const ArrayId array = model.program.add_input(name, dims, Role::parameter);
    for (const char* moment : {"m.", "v."})
      model.program.add_input(moment + std::string(name), dims, Role::optimizer_state);
    const bool by_expert = dims.size() == 3;
    model.parameters.push_back(
        {.array = array, .checkpoint_name = std::string(kPrefix) + tensor, .input_dims = 1, .by_expert = by_expert});
  };
  add("W_router", "gate.weight", {"D", "R"});
  add("W_gate", "experts.{}.w1.weight", {"E", "D", "F"});
  add("W_down", "experts.{}.w2.weight", {"E", "F", "D"});
  add("W_up", "experts.{}.w3.weight", {"E", "D", "F"});
  return model;
}

/// The element of an array at its row-major index: no two elements of a model are equal, and f16 holds them.
double element(std::size_t parameter, Index i) {
  return static_cast<double>(400 * parameter + 1) + static_cast<double>(i);
}

std::string expert_name(Index expert, const char* which) {
  return fmt::format("{}experts.{}.{}.weight", kPrefix, expert, which);
}

/// The matrix [out, in] that a file has of the elements [in, out] from `first` on.
HandMadeTensor matrix(std::size_t parameter, Index first, Index in, Index out, const std::string& dtype = "F32") {
  HandMadeTensor tensor{.dtype = dtype, .shape = {out, in}, .values = {}};
  for (Index o = 0; o < out; ++o) {
    for (Index i = 0; i < in; ++i) tensor.values.push_back(element(parameter, first + i * out + o));
  }
  return tensor;
}

/// The tensors of expert_model(). Every expert has another of `dtypes`.
Named tensors_of(const Sizes& s, const std::vector<std::string>& dtypes = {"F32"}) {
  Named tensors = {{std::string(kPrefix) + "gate.weight", matrix(0, 0, s.d, s.e, dtypes[0])}};
  for (Index e = 0; e < s.e; ++e) {
    const std::string& dtype = dtypes[static_cast<std::size_t>(e) % dtypes.size()];
    const Index first = e * s.d * s.f;
    tensors.emplace_back(expert_name(e, "w1"), matrix(1, first, s.d, s.f, dtype));
    tensors.emplace_back(expert_name(e, "w2"), matrix(2, first, s.f, s.d, dtype));
    tensors.emplace_back(expert_name(e, "w3"), matrix(3, first, s.d, s.f, dtype));
  }
  return tensors;
}

/// Writes the last tensors first, every other one into another file.
void write_folder(const std::string& folder, const Named& tensors) {
  Named parts[2];
  nlohmann::json map;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    parts[i % 2].push_back(tensors[i]);
    map[tensors[i].first] = fmt::format("{}.safetensors", i % 2);
  }
  std::filesystem::create_directories(folder);
  for (int i : {0, 1}) write_whole_file(fmt::format("{}/{}.safetensors", folder, i), hand_made_file(parts[i]));
  write_whole_file(folder + "/model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
}

/// A mesh, how the dims of arrays lie on it (R as E), and how many ranks have an equal block of an expert array.
struct Layout {
  int ranks;
  const char* mesh;
  const char* dims;
  Index copies = 1;
};

/// Of three experts on four ranks one rank has none.
const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {
      {1, "X=1", "A[E, D, F]"},         {2, "X=2", "A[E, D, F]", 2},      {2, "X=2", "A[E_X, D, F]"},
      {2, "X=2", "A[E, D, F_X]"},       {3, "X=3", "A[E_X, D, F]"},       {3, "X=3", "A[E, D_X, F]"},
      {4, "X=4", "A[E_X, D, F]"},       {4, "X=4", "A[E, D_X, F]"},       {4, "X=2,Y=2", "A[E_X, D, F]", 2},
      {4, "X=2,Y=2", "A[E_X, D_Y, F]"}, {4, "X=2,Y=2", "A[E_Y, D, F_X]"}, {4, "X=2,Y=2", "A[E_YX, D, F]"},
      {4, "X=2,Y=2", "A[E, D_X, F_Y]"}, {4, "X=2,Y=2", "A[E, D, F_XY]"},
  };
  return all;
}

/// The plan of a state with all arrays of a model under a layout.
StatePlan plan_of(const Model& model, const Layout& layout, const AbstractMesh& mesh) {
  const ParsedArray lie = resolve(parse_array(layout.dims), mesh);
  StatePlan plan;
  for (const Array& array : model.program.arrays) {
    Sharding sharding = Sharding::replicated(array.dims.size());
    for (std::size_t d = 0; d < array.dims.size(); ++d) {
      const std::string& dim = array.dims[d] == "R" ? "E" : array.dims[d];
      const auto found = std::find(lie.dims.begin(), lie.dims.end(), dim);
      sharding.dims[d] = lie.sharding.dims.at(static_cast<std::size_t>(found - lie.dims.begin()));
    }
    plan.items[array.name] = {.array = {array.name, array.dims, array.shape, sharding, array.dtype}};
  }
  return plan;
}

/// A state on some ranks of the job.
struct Placed {
  Placed(const mpi::Communicator& part, const Layout& layout, const Model& model)
      : mesh(AbstractMesh::parse(layout.mesh), part),
        engine(mesh),
        state(engine, plan_of(model, layout, mesh.axes())) {}

  /// Parameters are known numbers, moments others.
  void fill(const Model& model) {
    for (const Array& array : model.program.arrays) {
      const std::size_t number = number_of(array.name);
      state.fill(array.name, [number](Index i) { return element(number, i); });
    }
  }
  /// Whether the arrays whose names begin so are whole.
  void expect_elements(const Model& model, const std::string& begin) const {
    for (const Array& array : model.program.arrays) {
      if (array.name.rfind(begin, 0) != 0) continue;
      const Tensor whole = state.gather(array.name).as(DType::f64);
      for (Index i = 0; i < whole.size(); ++i) {
        ASSERT_EQ(whole.view<double>()[i], element(number_of(array.name), i)) << array.name << " element " << i;
      }
    }
  }
  static std::size_t number_of(const std::string& name) {
    const char* const names[] = {"W_router", "W_gate", "W_down", "W_up"};
    const std::size_t first = name.find('W');
    const auto found = std::find(std::begin(names), std::end(names), name.substr(first));
    return static_cast<std::size_t>(found - std::begin(names)) + (first == 0 ? 0 : name[0] == 'm' ? 10 : 20);
  }

  Mesh mesh;
  collectives::Engine engine;
  State state;
};

/// What a rank reads of W_gate.
struct Counted {
  double elements = 0;
  std::set<std::string> tensors;
};

PartReader counting(const PartReader& reader, Counted& counted) {
  const auto read = [&counted, reader](const TensorPart& part) {
    if (part.tensor.find(".w1.") != std::string::npos) {
      counted.elements += static_cast<double>(element_count(shape_of(part.ranges)));
      counted.tensors.insert(part.tensor);
    }
    return reader.read(part);
  };
  return {.read = read, .expect = reader.expect};
}

PartReader reader_of(const WeightFiles& files) {
  return {.read = [&](const TensorPart& part) { return files.read_block(part.tensor, part.dims, part.ranges); },
          .expect = [&](const TensorPart& part) { files.expect_block(part.tensor, part.dims, part.ranges); }};
}

class ExpertArrays : public testing::Test {
 protected:
  /// Runs body(placed) under each layout on as many ranks as it has.
  template <class Body>
  void under_each_layout(const Model& model, Body body) {
    for (const Layout& layout : layouts()) {
      SCOPED_TRACE(std::string(layout.mesh) + " " + layout.dims);
      on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
        Placed placed(part, layout, model);
        body(placed, layout);
      });
    }
  }
  /// Rank 0 writes a folder for all.
  void write(const std::string& folder, const Named& tensors) const {
    if (world_.rank() == 0) write_folder(folder, tensors);
    world_.barrier();
  }

  mpi::Communicator world_ = mpi::Communicator::world();
  TemporaryFolder own_;
  std::string folder_ = world_.broadcast(own_.path("folder"), 0);
};

TEST_F(ExpertArrays, AreLoadedUnderEveryLayoutAndEachRankReadsItsPart) {
  const Model model = expert_model();
  write(folder_, tensors_of({}, {"F64", "F16", "F32"}));
  const WeightFiles files(folder_);
  files.require_tensors_of(kConfig, parameters_of(model));
  under_each_layout(model, [&](Placed& placed, const Layout& layout) {
    Counted counted;
    read_arrays(placed.state, parameters_of(model), counting(reader_of(files), counted), placed.mesh.comm());
    placed.expect_elements(model, "W");
    EXPECT_EQ(static_cast<Index>(counted.tensors.size()), placed.state.block("W_gate").extent(0));
    EXPECT_EQ(placed.mesh.comm().sum(counted.elements), static_cast<double>(layout.copies * 3 * 5 * 7));
  });
}

TEST_F(ExpertArrays, AreSavedAsATensorForEachExpert) {
  const Model model = expert_model();
  const Named wanted = tensors_of({});
  std::set<std::string> files;
  std::set<std::vector<std::uint64_t>> all_digests;
  under_each_layout(model, [&](Placed& placed, const Layout&) {
    placed.fill(model);
    const mpi::Communicator& comm = placed.mesh.comm();
    const auto saved =
        save_checkpoint(placed.state, folder_, kConfig, model, {.sequence = 7, .machine_hash = ""}, comm);
    EXPECT_EQ(digests(placed.state, parameters_of(model), comm), saved);
    all_digests.insert(saved);
    files.insert(read_file(folder_ + "/model.safetensors"));
    const std::map<std::string, HandMadeTensor> found = read_by_hand(folder_ + "/model.safetensors");
    EXPECT_EQ(found.size(), wanted.size());
    for (const auto& [name, tensor] : wanted) {
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_EQ(found.at(name).dtype, "F32");
      EXPECT_EQ(found.at(name).shape, tensor.shape) << name;
      EXPECT_EQ(found.at(name).values, tensor.values) << name;
    }
    EXPECT_EQ(nlohmann::json::parse(read_file(folder_ + "/config.json"))["model_type"], "mixtral");
    comm.barrier();
  });
  EXPECT_EQ(files.size(), 1U);        // no file knows a mesh
  EXPECT_EQ(all_digests.size(), 1U);  // no digest either
}

TEST_F(ExpertArrays, HaveTheDigestsOfSingleTensors) {
  const Model model = expert_model();
  Placed experts(world_, layouts().back(), model);
  experts.fill(model);
  const std::vector<std::uint64_t> found = digests(experts.state, parameters_of(model), world_);
  EXPECT_EQ(found.size(), 10U);
  for (Index expert = 0; expert < 3; ++expert) {
    Model single;
    single.program.sizes = {{"D", 5}, {"F", 7}};
    const ArrayId array = single.program.add_input("W", {"D", "F"}, Role::parameter);
    single.parameters.push_back({.array = array, .checkpoint_name = expert_name(expert, "w1"), .input_dims = 1});
    Placed placed(world_, {4, "X=4", "A[D, F_X]"}, single);
    placed.state.fill("W", [&](Index i) { return element(1, expert * 5 * 7 + i); });
    const std::uint64_t of_expert = found[static_cast<std::size_t>(1 + expert)];
    EXPECT_EQ(digests(placed.state, parameters_of(single), world_), std::vector<std::uint64_t>{of_expert});
  }
}

/// A checkpoint of a run, opened without the configuration's own model.
OpenedStep opened(const std::string& folder, Index step) {
  OpenedStep found;
  found.folder = fmt::format("{}/step-{}", folder, step);
  found.weights.files = std::make_shared<WeightFiles>(found.folder);
  found.moments = std::make_shared<SafetensorsFile>(found.folder + "/optimizer.safetensors");
  const auto manifest = nlohmann::json::parse(read_file(manifest_path(found.folder)));
  for (const auto& [name, digest] : manifest["digests"].items()) {
    found.digests[name] = std::stoull(digest.get<std::string>(), nullptr, 16);
  }
  return found;
}

TEST_F(ExpertArrays, OfARunGoOnUnderAnotherLayout) {
  const Model model = expert_model();
  const TrainingCheckpoint what{kConfig, {.steps = 1, .samples = 2}, {}, {.sequence = 7, .machine_hash = ""}};
  for (std::size_t i = 0; i < layouts().size(); ++i) {
    const Layout& first = layouts()[i];
    const Layout& second = layouts()[(i + 5) % layouts().size()];
    SCOPED_TRACE(fmt::format("{} {}, then {} {}", first.mesh, first.dims, second.mesh, second.dims));
    on_first(world_, first.ranks, [&](const mpi::Communicator& part) {
      Placed placed(part, first, model);
      placed.fill(model);
      save_step(placed.state, {.path = folder_}, what, model, part);
    });
    on_first(world_, second.ranks, [&](const mpi::Communicator& part) {
      Placed placed(part, second, model);
      load_step(opened(folder_, 1), placed.state, model, part);
      placed.expect_elements(model, "");
    });
  }
  if (world_.rank() != 0) return;  // the folder goes with rank 0
  EXPECT_EQ(read_by_hand(folder_ + "/step-1/optimizer.safetensors").at(expert_name(1, "w2") + ".exp_avg_sq").values,
            matrix(22, 35, 7, 5).values);
}

TEST_F(ExpertArrays, OfARunAreRefusedByTheNameOfTheTensor) {
  const Model model = expert_model();
  const Layout& layout = layouts().back();
  Placed placed(world_, layout, model);
  placed.fill(model);
  const TrainingCheckpoint what{kConfig, {.steps = 1, .samples = 2}, {}, {.sequence = 7, .machine_hash = ""}};
  save_step(placed.state, {.path = folder_}, what, model, world_);
  const auto fault = [&](const OpenedStep& step) {
    try {
      load_step(step, placed.state, model, world_);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault(opened(folder_, 1)), "none");
  const std::string tensor = expert_name(2, "w1");
  OpenedStep altered = opened(folder_, 1);
  altered.digests[tensor] += 1;
  EXPECT_NE(fault(altered).find("tensor " + tensor + " is altered"), std::string::npos) << fault(altered);
  altered = opened(folder_, 1);
  altered.digests.erase(tensor + ".exp_avg");
  EXPECT_NE(fault(altered).find("tensor " + tensor + ".exp_avg is missing"), std::string::npos) << fault(altered);
  altered = opened(folder_, 1);
  altered.digests[expert_name(3, "w1")] = 1;
  EXPECT_NE(fault(altered).find("tensor " + expert_name(3, "w1") + ": the run has none"), std::string::npos);
}

TEST_F(ExpertArrays, MissingOtherAndMisshapenTensorsAreNamed) {
  const auto fault = [&](const Named& tensors, const TransformerConfig& config) {
    write_folder(own_.path("own"), tensors);
    const std::string message = usage_error_of(
        [&] { WeightFiles(own_.path("own")).require_tensors_of(config, parameters_of(expert_model())); });
    return message.substr(message.find(": ") + 2);
  };
  const std::string start = "not the tensors of the configuration: ";
  Named tensors = tensors_of({});
  tensors.erase(tensors.begin() + 4);  // expert 1
  EXPECT_EQ(fault(tensors, kConfig), start + "1 missing: " + expert_name(1, "w1"));
  EXPECT_EQ(fault(tensors_of({.e = 4}), kConfig).substr(0, 150),
            (start + "3 not used: " + expert_name(3, "w1") + " (num_local_experts is 3), " + expert_name(3, "w2"))
                .substr(0, 150));
  tensors = tensors_of({});
  tensors.emplace_back("model.layers.1.block_sparse_moe.gate.weight", tensors[0].second);
  EXPECT_EQ(fault(tensors, kConfig),
            start + "1 not used: model.layers.1.block_sparse_moe.gate.weight (num_hidden_layers is 1)");
  EXPECT_NE(fault(tensors_of({.e = 4}), {.layers = 1})
                .find(expert_name(3, "w1") + " (the model_type has no experts; those of mixtral are implemented)"),
            std::string::npos);
  tensors = tensors_of({});
  tensors[5].second.shape = {7, 5};
  EXPECT_EQ(fault(tensors, kConfig),
            "tensor " + expert_name(1, "w2") + " has shape [7, 5], the configuration says [5, 7]");
}

/// One expert is on one rank, and every rank throws.
TEST_F(ExpertArrays, WhatCannotBeHeldIsRefusedOnEveryRank) {
  const Model model = expert_model();
  const auto fault = [&](double value) {
    Named tensors = tensors_of({}, {"F64"});
    tensors[7].second.values[3] = value;
    write(folder_, tensors);
    const Checkpoint checkpoint{.config = kConfig, .remarks = {}, .files = std::make_shared<WeightFiles>(folder_)};
    Placed placed(world_, {4, "X=4", "A[E_X, D, F]"}, model);
    try {
      load_parameters(checkpoint, placed.state, model, world_);
    } catch (const ResultError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault(1e38), "none");
  EXPECT_EQ(fault(1e39), "tensor " + expert_name(2, "w1") + " holds numbers too large for f32; --dtype f64 may help");
  EXPECT_NE(fault(std::nan("")).find("tensor " + expert_name(2, "w1") + " holds NaN"), std::string::npos);
}

/// Experts of 4.4 MB are read and written in two parts.
TEST_F(ExpertArrays, LargeOnesGoInParts) {
  Model model = expert_model({.e = 2, .d = 1100, .f = 1000});
  model.parameters = {model.parameters[2]};
  const auto value = [](Index i) { return element(2, i); };
  Placed saved(world_, {4, "X=2,Y=2", "A[E_X, D, F]"}, model);
  saved.state.fill("W_down", value);
  save_checkpoint(saved.state, folder_, kConfig, model, {.sequence = 7, .machine_hash = ""}, world_);
  const Checkpoint checkpoint{.config = kConfig, .remarks = {}, .files = std::make_shared<WeightFiles>(folder_)};
  for (const char* dims : {"A[E_X, D, F]", "A[E, D_X, F_Y]"}) {
    Placed loaded(world_, {4, "X=2,Y=2", dims}, model);
    load_parameters(checkpoint, loaded.state, model, world_);
    Placed wanted(world_, {4, "X=2,Y=2", dims}, model);
    wanted.state.fill("W_down", value);
    const Tensor& block = wanted.state.block("W_down");
    EXPECT_EQ(std::memcmp(loaded.state.block("W_down").data(), block.data(), static_cast<std::size_t>(block.bytes())),
              0);
  }
  if (world_.rank() != 0) return;
  EXPECT_EQ(read_by_hand(folder_ + "/model.safetensors").at(expert_name(1, "w2")).values,
            matrix(2, 1100 * 1000, 1000, 1100).values);
}

}  // namespace
}  // namespace shardline
