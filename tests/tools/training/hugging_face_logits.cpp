// Logits of the models in Hugging Face folders, for hugging_face_test.sh:
//
//   hugging_face_logits TEXT TOKENS FOLDER...
//
// Writes FOLDER/logits.f64: for each of the first TOKENS bytes of the file TEXT all logits of the byte that follows, in
// f64. The weights are split over all ranks by tensor parallelism. The first byte is a prompt, and the others are added
// one by one, so that all but the first logits come from caches.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "models/checkpoint/checkpoint.h"
#include "models/generation/generator.h"
#include "runtime/host/files.h"
#include "runtime/mpi/environment.h"

namespace shardline {
namespace {

void write_logits(collectives::Engine& engine, const std::string& folder, const std::string& text) {
  const mpi::Communicator& comm = engine.mesh().comm();
  const Checkpoint checkpoint = open_checkpoint(comm, folder);
  const AbstractMesh& mesh = engine.mesh().axes();
  const GenerationForm form{.context = static_cast<Index>(text.size()) + 1,
                            .dtype = DType::f64,
                            .decode = parse_strategy("tp_rep=X", mesh, RoleUse::generation)};
  Generator generator(engine, GenerationPlan(checkpoint.config, form, mesh),
                      [&](State& state, const Model& model) { load_parameters(checkpoint, state, model, comm); });
  std::vector<double> all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::int32_t id = static_cast<unsigned char>(text[i]);
    const Tensor& logits = i == 0 ? generator.prefill({{id}}) : generator.decode({id});
    const View<const double> values = logits.view<double>();
    all.insert(all.end(), values.begin(), values.end());
  }
  mpi::on_root(comm, 0, [&] {
    WholeFile file(folder + "/logits.f64");
    file.write(all.data(), all.size() * sizeof(double));
    file.commit();
    return std::string();
  });
}

int run(std::span<char*> arguments) {
  const mpi::Communicator world = mpi::Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  const std::string text = read_file(arguments[1]).substr(0, std::strtoul(arguments[2], nullptr, 10));
  for (char* folder : arguments.subspan(3)) write_logits(engine, folder, text);
  return 0;
}

}  // namespace
}  // namespace shardline

int main(int argc, char** argv) {
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::run({argv, static_cast<std::size_t>(argc)}); });
}
