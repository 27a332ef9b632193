#include "roofline/machine/catalogue.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "roofline/machine/torus.h"
#include "runtime/base/check.h"
#include "runtime/base/nearest.h"

namespace shardline::roofline {
namespace {

constexpr Seconds kHop{1e-6};
constexpr const char* kCpu = "cpu";
constexpr BytesPerSecond kCpuMemory{1e10};

Chip chip(const char* name, double matmul, double memory, double capacity, double link) {
  return {name, FlopsPerSecond(matmul), BytesPerSecond(memory), Bytes(capacity), BytesPerSecond(link)};
}

Chip torus(Chip described, int axes, Index wraps_at, bool multiples, Index most_chips) {
  described.torus_axes = axes;
  described.wraps_at = wraps_at;
  described.multiples = multiples;
  described.most_chips = most_chips;
  return described;
}

/// Adds the figures of a chip's host and the number of cores (book section 2). Hosts are on the data centre's
/// network.
Chip on_host(Chip described, double int8, double pcie, Index chips_per_host, int cores) {
  described.int8 = FlopsPerSecond(int8);
  described.pcie = BytesPerSecond(pcie);
  described.chips_per_host = chips_per_host;
  described.between_pods = BytesPerSecond(2.5e10);
  described.cores = cores;
  return described;
}

Chip on_switch(Chip described, Index most_chips) {
  described.most_chips = most_chips;
  return described;
}

/// The mesh axes on torus axes of `chips` chips that `axis` has: itself, and if it has fewer chips, those after it that
/// have no torus axes of their own and fill them. Itself alone, if they do not fit.
Axes axes_on(const Axis& axis, const AbstractMesh& mesh, const TorusLayout& layout, Index chips) {
  Axes axes{axis};
  const Axes& all = mesh.axes();
  Index filled = mesh.size(axis);
  const auto place = std::find(all.begin(), all.end(), axis);
  for (auto next = place == all.end() ? place : place + 1; next != all.end() && filled < chips; ++next) {
    if (layout.count(*next) > 0) break;
    axes.push_back(*next);
    filled *= mesh.size(*next);
  }
  return filled == chips ? axes : Axes{axis};
}

}  // namespace

const std::vector<Chip>& catalogue() {
  static const std::vector<Chip> chips = {
      on_host(torus(chip("v3", 1.4e14, 9.0e11, 32e9, 1e11), 2, 32, false, 32 * 32), 1.4e14, 1.5e10, 8, 2),
      on_host(torus(chip("v4p", 2.75e14, 1.2e12, 32e9, 4.5e10), 3, 4, true, 16 * 16 * 16), 2.75e14, 1.5e10, 4, 2),
      on_host(torus(chip("v5p", 4.59e14, 2.8e12, 96e9, 9e10), 3, 4, true, 16 * 20 * 28), 9.18e14, 1.5e10, 4, 2),
      on_host(torus(chip("v5e", 1.97e14, 8.1e11, 16e9, 4.5e10), 2, 16, false, 16 * 16), 3.94e14, 1.5e10, 8, 1),
      on_host(torus(chip("v6e", 9.20e14, 1.6e12, 32e9, 9e10), 2, 16, false, 16 * 16), 1.84e15, 3.2e10, 8, 1),
      on_switch(chip("h100", 9.89e14, 3.35e12, 80e9, 4.5e11), 8),  // NVLink: 9e11 in both directions together
  };
  return chips;
}

std::vector<std::string> hardware_names() {
  std::vector<std::string> names;
  for (const Chip& chip : catalogue()) names.push_back(chip.name);
  names.emplace_back(kCpu);
  return names;
}

const Chip* find_chip(const std::string& name) {
  const std::vector<Chip>& chips = catalogue();
  const auto found = std::find_if(chips.begin(), chips.end(), [&](const Chip& chip) { return chip.name == name; });
  return found == chips.end() ? nullptr : &*found;
}

const Chip& chip_named(const std::string& name) {
  const Chip* chip = find_chip(name);
  SHARDLINE_CHECK(chip != nullptr, "no chip {} in the catalogue", name);
  return *chip;
}

Machine machine_of(const Chip& chip, const AbstractMesh& mesh) {
  Machine machine{.name = chip.name, .memory = {.capacity = chip.capacity, .triad = chip.memory}};
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) machine.compute[dtype] = {chip.matmul};
  if (chip.int8.value > 0) machine.compute[DType::int8] = {chip.int8};
  machine.bf16_wire = collectives::Wire::hop;
  machine.pcie = chip.pcie;
  machine.between_pods = chip.between_pods;
  for (const Axis& axis : mesh.axes_that_move()) {
    Resource link{.kind = ResourceKind::switched, .latency = kHop, .one_way = chip.link, .both_ways = 2 * chip.link};
    if (chip.torus_axes > 0) link.kind = wraps(chip, mesh.size(axis)) ? ResourceKind::ring : ResourceKind::line;
    const std::string name = chip.torus_axes > 0 ? "torus axis " + axis : "switch";
    machine.resources[name] = link;
    machine.axes[axis] = name;
  }
  return machine;
}

Hardware hardware_of(const Chip& chip, const AbstractMesh& mesh, const TorusLayout& layout, DType dtype) {
  Hardware hardware = hardware_of(machine_of(chip, mesh), mesh, dtype);
  hardware.polled = false;
  Index chips = 1;
  for (const auto& [axis, sides] : layout) {
    chips *= element_count(sides);
  }
  // If multiples of a length wrap, the layout consists of full cubes of it (book section 2.2).
  Index cube = 1;
  for (int axis = 0; axis < chip.torus_axes && chip.multiples; ++axis) cube *= chip.wraps_at;
  const bool cubes = chips % cube == 0;
  for (const auto& [axis, sides] : layout) {
    const Index laid = element_count(sides);
    const Axes axes = axes_on(axis, mesh, layout, laid);
    std::vector<Index> sizes;
    for (const Axis& each : axes) sizes.push_back(mesh.size(each));
    require(laid == element_count(sizes), "mesh axis {} has {} chips, its torus axes {} have {}", fmt::join(axes, ""),
            element_count(sizes), fmt::join(sides, "x"), laid);
    const std::vector<std::vector<Index>> parts = shared_sides(sides, sizes);
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const auto link = hardware.links.find(axes[a]);
      if (link == hardware.links.end() || chip.torus_axes == 0) continue;
      for (std::size_t side = 0; side < sides.size(); ++side) {
        const Index part = parts[a][side];
        if (part > 1) link->second.sides.push_back({part, part == sides[side] && cubes && wraps(chip, part)});
      }
    }
  }
  return hardware;
}

Machine cpu_machine(const AbstractMesh& mesh, const std::set<Axis>& across_nodes) {
  Machine machine{.name = kCpu, .memory = {.triad = kCpuMemory}, .overhead = Seconds(1e-6)};
  machine.compute[DType::f32] = {FlopsPerSecond(5e10)};
  machine.compute[DType::f64] = {FlopsPerSecond(2.5e10)};
  // A copy reads and writes every byte. An addition reads two bytes and writes one.
  const Curve copy({{1, kCpuMemory.value / 2}});
  const Curve add({{1, kCpuMemory.value / 3}});
  const Resource node{.kind = ResourceKind::shared_memory,
                      .latency = Seconds(1e-6),
                      .one_way = BytesPerSecond(4e9),
                      .both_ways = BytesPerSecond(4e9),
                      .core_share = 1,
                      .shared = SharedMemory{Seconds(1e-6), copy, add}};
  const Resource network{.kind = ResourceKind::switched,
                         .latency = Seconds(2e-5),
                         .one_way = BytesPerSecond(1.25e8),
                         .both_ways = BytesPerSecond(2.5e8)};
  for (const Axis& axis : mesh.axes_that_move()) {
    const bool across = across_nodes.count(axis) > 0;
    machine.axes[axis] = across ? "network" : "memory of the node";
    machine.resources[machine.axes[axis]] = across ? network : node;
  }
  return machine;
}

Hardware hardware_named(const std::string& name, const AbstractMesh& mesh, DType dtype,
                        const std::set<Axis>& across_nodes) {
  if (name == kCpu) {
    Hardware hardware = hardware_of(cpu_machine(mesh, across_nodes), mesh, dtype);
    hardware.products_copy = true;
    return hardware;
  }
  const Chip* chip = find_chip(name);
  if (chip == nullptr) {
    usage_error("hardware \"{}\" is not known; nearest are {}; there are {}", name,
                fmt::join(nearest(name, hardware_names()), ", "), fmt::join(hardware_names(), ", "));
  }
  return hardware_of(*chip, mesh, {}, dtype);
}

std::vector<std::string> reservations(const std::string& name, const AbstractMesh& mesh) {
  std::vector<std::string> sentences;
  const Chip* chip = find_chip(name);
  if (chip == nullptr) return sentences;
  const auto axes = static_cast<int>(mesh.axes_that_move().size());
  if (chip->torus_axes > 0 && axes > chip->torus_axes) {
    sentences.push_back(fmt::format("{} has {} torus axes; the {} of the mesh are priced as though each had its own",
                                    name, chip->torus_axes, axes));
  }
  if (mesh.ranks() > chip->most_chips) {
    sentences.push_back(fmt::format("{} joins at most {} chips by these links; {} are priced as though it joined them",
                                    name, chip->most_chips, mesh.ranks()));
  }
  return sentences;
}

}  // namespace shardline::roofline
