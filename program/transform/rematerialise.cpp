#include "program/transform/rematerialise.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Goes through a program and copies operations of the forward pass into the backward pass.
class Rematerialiser {
 public:
  Rematerialiser(Program& program, Remat remat) : program_(program), remat_(remat) {
    const int last = last_layer();
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const Operation& op = program.operations[i];
      if (op.region.pass != Pass::forward || op.region.layer == last) continue;
      for (const ArrayId result : op.results) maker_[result] = i;
    }
    for (const auto& [array, op] : maker_) {
      if (keeps(array)) kept_.insert(array);
    }
  }

  void run() {
    for (const Operation& op : program_.operations) {
      Operation copy = op;
      if (op.region.pass == Pass::backward) {
        for (const ArrayId operand : op.operands) make_again(operand);
        replace(copy);
      }
      operations_.push_back(std::move(copy));
    }
    program_.operations = std::move(operations_);
  }

 private:
  int last_layer() const {
    int last = 0;
    for (const Operation& op : program_.operations) {
      if (op.region.pass == Pass::forward) last = std::max(last, op.region.layer);
    }
    return last;
  }

  const Operation& maker(ArrayId array) const { return program_.operations[maker_.at(array)]; }

  bool is_product(const Operation& op) const {
    const Phase& phase = op.phases.front();
    const KernelForm form = phase.kernel->form;
    return (form == KernelForm::product && phase.operands.size() > 1) || form == KernelForm::products;
  }

  /// True if a layer reads `array` that does not make it: the array is the input of a layer.
  bool enters_layer(ArrayId array) const {
    const int layer = maker(array).region.layer;
    return std::any_of(program_.operations.begin(), program_.operations.end(), [&](const Operation& op) {
      return op.region.pass == Pass::forward && op.region.layer != layer &&
             std::find(op.operands.begin(), op.operands.end(), array) != op.operands.end();
    });
  }

  /// True if a phase of its operation hands the array to a later one. It is small, and may have been reduced.
  bool is_handed_on(ArrayId array) const {
    const std::vector<Phase>& phases = maker(array).phases;
    return std::any_of(phases.begin(), phases.end(), [&](const Phase& phase) {
      return std::find(phase.operands.begin(), phase.operands.end(), array) != phase.operands.end();
    });
  }

  bool keeps(ArrayId array) const {
    if (is_handed_on(array) || program_.array(array).role == Role::parameter) return true;
    const bool stream = program_.array(array).role == Role::stream;
    switch (remat_) {
      case Remat::none:
        return true;
      case Remat::matmuls:
        return stream || is_product(maker(array));
      case Remat::stream:
        return stream;
      case Remat::block:
        return stream && enters_layer(array);
    }
    throw Error("unknown policy of rematerialisation");
  }

  /// Copies the operation that makes `array`, and before it the makers of its operands, unless that is done or the
  /// array stays.
  void make_again(ArrayId array) {
    if (!maker_.contains(array) || twins_.contains(array) || kept_.contains(array)) return;
    Operation again = what_to_repeat(maker(array));
    for (const ArrayId operand : again.operands) make_again(operand);
    for (const Phase& phase : again.phases) {
      for (const ArrayId result : phase.results) twins_[result] = twin(result);
    }
    again.region.pass = Pass::backward;
    replace(again);
    operations_.push_back(std::move(again));
  }

  /// The operation without the phases whose results stay, and what is left of its operands and results.
  Operation what_to_repeat(Operation op) const {
    const auto stays = [&](ArrayId array) { return kept_.contains(array); };
    std::erase_if(op.phases,
                  [&](const Phase& phase) { return std::all_of(phase.results.begin(), phase.results.end(), stays); });
    std::erase_if(op.results, stays);
    op.operands.clear();
    std::set<ArrayId> known;
    for (const Phase& phase : op.phases) {
      for (const ArrayId operand : phase.operands) {
        if (known.insert(operand).second) op.operands.push_back(operand);
      }
      known.insert(phase.results.begin(), phase.results.end());
    }
    return op;
  }

  ArrayId twin(ArrayId array) {
    Array copy = program_.array(array);
    copy.name += "~";
    copy.repeats = array;
    if (const auto rows = twins_.find(copy.rows); rows != twins_.end()) copy.rows = rows->second;
    program_.arrays.push_back(std::move(copy));
    return static_cast<ArrayId>(program_.arrays.size()) - 1;
  }

  void replace(std::vector<ArrayId>& arrays) const {
    for (ArrayId& array : arrays) {
      const auto found = twins_.find(array);
      if (found != twins_.end()) array = found->second;
    }
  }

  /// The operation reads and makes the arrays computed again, where there are some.
  void replace(Operation& op) const {
    replace(op.operands);
    replace(op.results);
    for (Phase& phase : op.phases) {
      replace(phase.operands);
      replace(phase.results);
    }
    for (std::vector<ArrayId>& group : op.linear) replace(group);
  }

  Program& program_;
  Remat remat_;
  std::map<ArrayId, std::size_t> maker_;  ///< of results that may be computed again: the operation, by number
  std::set<ArrayId> kept_;
  std::map<ArrayId, ArrayId> twins_;  ///< array -> the same, computed again
  std::vector<Operation> operations_;
};

constexpr std::array<std::pair<Remat, std::string_view>, kRemats.size()> kNames = {
    {{Remat::none, "none"}, {Remat::matmuls, "matmuls"}, {Remat::stream, "stream"}, {Remat::block, "block"}}};

}  // namespace

std::string_view name_of(Remat remat) {
  for (const auto& [each, name] : kNames) {
    if (each == remat) return name;
  }
  throw Error("unknown policy of rematerialisation");
}

Remat remat_named(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [remat, own] : kNames) {
    if (own == name) return remat;
    names.push_back(own);
  }
  usage_error("unknown rematerialisation \"{}\"; it is one of {}", name, fmt::join(names, ", "));
}

void rematerialise(Program& program, Remat remat) {
  if (remat != Remat::none) Rematerialiser(program, remat).run();
}

}  // namespace shardline
