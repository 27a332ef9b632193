#include "program/cut/write_out.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {
namespace {

bool is_update(const Step& step) { return step.region.pass == Pass::update; }

class Writer {
 public:
  Writer(const RankProgram& micro, Index micro_batches) : micro_(micro), count_(micro_batches) {
    RankProgram& out = result_.program;
    out = micro;
    out.steps.clear();
    for (const auto& [before, after] : micro.program.updates) {
      if (is_sum(before)) sums_[micro.inputs.at(before)] = micro.finals.at(after);
    }
    remove_sums();
    find_closing();
  }

  WrittenOut write() {
    for (Index batch = 0; batch < count_; ++batch) write_batch(batch);
    write_update();
    return std::move(result_);
  }

 private:
  bool is_sum(ArrayId array) const { return micro_.program.array(array).role == Role::sum; }
  const Array& array_of(VersionId version) const { return micro_.array_of(version); }

  /// Sums are neither inputs nor state of the whole step.
  void remove_sums() {
    RankProgram& out = result_.program;
    const auto sum = [&](ArrayId array) { return is_sum(array); };
    std::erase_if(out.program.inputs, sum);
    std::erase_if(out.program.outputs, sum);
    std::erase_if(out.program.updates, [&](const auto& update) { return is_sum(update.first); });
    std::erase_if(out.inputs, [&](const auto& input) { return is_sum(input.first); });
    std::erase_if(out.finals, [&](const auto& made) { return is_sum(made.first); });
  }

  /// Steps of the update that only bring a sum to its layout in the update.
  void find_closing() {
    std::set<VersionId> known;
    for (const auto& [sum, updated] : sums_) known.insert(updated);
    for (std::size_t i = 0; i < micro_.steps.size(); ++i) {
      const Step& step = micro_.steps[i];
      const bool brings = step.kind != StepKind::compute || micro_.phase_of(step).kernel->form == KernelForm::sum;
      if (!is_update(step) || !brings || !all_in(known, step.operands)) continue;
      closing_.insert(i);
      known.insert(step.results.begin(), step.results.end());
    }
  }

  static bool all_in(const std::set<VersionId>& known, const std::vector<VersionId>& versions) {
    return std::all_of(versions.begin(), versions.end(), [&](VersionId v) { return known.contains(v); });
  }

  /// The version that stands for `version` in the micro-batch that is being written.
  VersionId now(VersionId version) const {
    const auto found = current_.find(version);
    return found == current_.end() ? version : found->second;
  }

  VersionId copy_of(VersionId version, Index batch) {
    Version copy = micro_.version(version);
    copy.region.micro_batch = static_cast<int>(batch);
    result_.program.versions.push_back(std::move(copy));
    return static_cast<VersionId>(result_.program.versions.size()) - 1;
  }

  /// The first micro-batch reads the samples of the program itself; each later one gets arrays of its own.
  void give_samples(Index batch) {
    std::map<ArrayId, ArrayId>& mine = result_.samples.emplace_back();
    RankProgram& out = result_.program;
    for (const auto& [input, version] : micro_.inputs) {
      const Role role = micro_.program.array(input).role;
      if (role != Role::tokens && role != Role::stream) continue;
      mine[input] = input;
      if (batch == 0) continue;
      Array array = micro_.program.array(input);
      array.name += fmt::format("@{}", batch + 1);
      out.program.arrays.push_back(std::move(array));
      const auto id = static_cast<ArrayId>(out.program.arrays.size()) - 1;
      out.program.inputs.push_back(id);
      out.declared[id] = out.declared.at(input);
      const VersionId copy = copy_of(version, batch);
      out.versions[static_cast<std::size_t>(copy)].array = id;
      out.inputs[id] = copy;
      current_[version] = copy;
      mine[input] = id;
    }
  }

  void write_batch(Index batch) {
    const std::map<VersionId, VersionId> before = std::exchange(current_, {});
    give_samples(batch);
    for (const auto& [sum, updated] : sums_) {
      if (batch > 0) current_[sum] = before.at(updated);
    }
    for (const Step& step : micro_.steps) {
      if (is_update(step)) continue;
      write_step(step, batch);
      if (batch + 1 == count_) close(step);
    }
  }

  void write_step(const Step& step, Index batch) {
    const bool adds = std::any_of(step.operands.begin(), step.operands.end(),
                                  [&](VersionId operand) { return sums_.contains(operand); });
    if (adds && batch == 0) {
      SHARDLINE_CHECK(step.operands.size() == 2, "a sum is read by {} operands", step.operands.size());
      current_[step.results[0]] = now(step.operands[1]);  // the part itself
      return;
    }
    Step copy = step;
    copy.region.micro_batch = static_cast<int>(batch);
    for (VersionId& operand : copy.operands) operand = now(operand);
    for (VersionId& result : copy.results) result = current_[result] = batch == 0 ? result : copy_of(result, batch);
    result_.program.steps.push_back(std::move(copy));
  }

  /// In the last micro-batch, after `made`: the closing steps of the sums that are whole now.
  void close(const Step& made) {
    whole_.insert(made.results.begin(), made.results.end());
    for (auto at = closing_.begin(); at != closing_.end();) {
      const Step& step = micro_.steps[*at];
      if (!all_in(whole_, step.operands)) {
        ++at;
        continue;
      }
      whole_.insert(step.results.begin(), step.results.end());
      write_closing(step, made.region);
      at = closing_.erase(at);
    }
  }

  /// A sum of one term is that term under another name: nothing is copied.
  void write_closing(const Step& step, Region region) {
    region.micro_batch = static_cast<int>(count_) - 1;
    if (step.kind == StepKind::compute && step.operands.size() == 1) {
      const VersionId same = current_[step.results[0]] = now(step.operands[0]);
      result_.program.versions[static_cast<std::size_t>(same)].array = micro_.version(step.results[0]).array;
      for (auto& [array, version] : result_.program.finals) version = version == step.results[0] ? same : version;
      return;
    }
    Step copy = step;
    copy.region = region;
    for (VersionId& operand : copy.operands) operand = now(operand);
    result_.program.steps.push_back(std::move(copy));
  }

  /// The rest of the update.
  void write_update() {
    for (const Step& step : micro_.steps) {
      if (!is_update(step) || all_in(whole_, step.results)) continue;
      Step copy = step;
      for (VersionId& operand : copy.operands) operand = now(operand);
      result_.program.steps.push_back(std::move(copy));
    }
  }

  const RankProgram& micro_;
  Index count_;
  WrittenOut result_;
  std::map<VersionId, VersionId> sums_;     ///< as it arrives -> as it is after the part is added
  std::set<std::size_t> closing_;           ///< steps of the update, by number, that are not written yet
  std::set<VersionId> whole_;               ///< versions of `micro_` that are whole: of the last micro-batch
  std::map<VersionId, VersionId> current_;  ///< by version of `micro_`, in the micro-batch that is being written
};

}  // namespace

WrittenOut write_out(const RankProgram& micro, Index micro_batches) {
  require(micro_batches >= 1, "{} micro-batches: at least 1", micro_batches);
  return Writer(micro, micro_batches).write();
}

}  // namespace shardline
