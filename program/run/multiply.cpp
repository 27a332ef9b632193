#include "program/run/multiply.h"

#include <set>

#include "program/partition/check.h"
#include "program/run/execute.h"
#include "roofline/machine/catalogue.h"
#include "roofline/measure/link_probe.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

ParsedArray written(const DistTensor& array) {
  return {.name = array.spec().name, .dims = array.spec().dims, .sharding = array.spec().sharding};
}

/// Adds the sizes of the dims of `array`.
void collect_sizes(const DistTensor& array, std::map<std::string, Index>& sizes) {
  for (std::size_t d = 0; d < array.shape().size(); ++d) {
    const auto [known, added] = sizes.emplace(array.spec().dims[d], array.shape()[d]);
    require(known->second == array.shape()[d], "{}: dim {} has size {}, elsewhere {}", array.to_string(), known->first,
            array.shape()[d], known->second);
  }
}

void check_operands(const collectives::Engine& engine, const DistTensor& a, const DistTensor& b) {
  for (const DistTensor* array : {&a, &b}) {
    SHARDLINE_CHECK(&array->mesh() == &engine.mesh(), "{} lies on mesh {}, not on the engine's {}", array->to_string(),
                    array->mesh().axes().to_string(), engine.mesh().axes().to_string());
  }
  require(a.spec().dtype == b.spec().dtype, "{} is {}, {} is {}; a product takes operands of one type", a.to_string(),
          name_of(a.spec().dtype), b.to_string(), name_of(b.spec().dtype));
  require(!is_integer(a.spec().dtype), "{} is {}; products are of f32, f64 and bf16", a.to_string(),
          name_of(a.spec().dtype));
}

}  // namespace

ArraySpec array_spec(const std::string& text, const std::map<std::string, Index>& sizes, const AbstractMesh& mesh,
                     DType dtype) {
  const ParsedArray array = resolve(parse_array(text), mesh);
  Shape shape;
  for (const std::string& dim : array.dims) {
    const auto size = sizes.find(dim);
    require(size != sizes.end(), "array {}: dim {} has no size", text, dim);
    shape.push_back(size->second);
  }
  return {array.name, array.dims, std::move(shape), array.sharding, dtype};
}

roofline::Hardware cpu_hardware(const Mesh& mesh, DType dtype) {
  std::set<Axis> across_nodes;
  for (const Axis& axis : mesh.axes().axes_that_move()) {
    if (!roofline::on_one_node(mesh, axis)) across_nodes.insert(axis);
  }
  return roofline::hardware_named("cpu", mesh.axes(), dtype, across_nodes);
}

Multiplied multiply(collectives::Engine& engine, const DistTensor& a, const DistTensor& b, const std::string& result,
                    const roofline::Hardware& hardware) {
  check_operands(engine, a, b);
  const AbstractMesh& mesh = engine.mesh().axes();
  std::map<std::string, Index> sizes;
  collect_sizes(a, sizes);
  collect_sizes(b, sizes);
  const Product product =
      make_product({{written(a), written(b)}, parse_array(result)}, sizes, mesh, cpu_types(a.spec().dtype));
  const roofline::Hardware prices = cpu_hardware(engine.mesh(), product.dtype());
  RankProgram program = product.candidates(prices).at(0).program;
  check(program);
  Executor executor(
      compile(std::move(program), {.scheduling = ScheduleOptions(), .prices = prices, .predictions = hardware}),
      engine);
  executor.set(product.operands[0], a.local());
  executor.set(product.operands[1], b.local());
  executor.run();
  executor.align();

  const std::vector<Measured> measured = measure(executor.trace(), engine);
  std::vector<TimedStep> steps;
  for (std::size_t i = 0; i < measured.size(); ++i) steps.push_back({executor.trace().labels()[i], measured[i]});
  const ArraySpec spec = array_spec(result, sizes, mesh, product.dtype());
  Tensor local = executor.get(product.result);
  if (engine.arena() != nullptr) local = local.clone();  // memory of the arena cannot be kept
  return {DistTensor::from_local(engine.mesh(), spec, std::move(local)), std::move(steps)};
}

}  // namespace shardline
