#include "program/partition/partition.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "program/price/wire.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// `sharding` without the axes of size 1.
Sharding without_trivial_axes(const Sharding& sharding, const AbstractMesh& mesh) {
  const auto filtered = [&](const Axes& axes) {
    Axes result;
    std::copy_if(axes.begin(), axes.end(), std::back_inserter(result), [&](const Axis& a) { return mesh.size(a) > 1; });
    return result;
  };
  Sharding result;
  for (const Axes& axes : sharding.dims) result.dims.push_back(filtered(axes));
  result.unreduced = filtered(sharding.unreduced);
  if (!result.unreduced.empty()) result.reduce = sharding.reduce;
  return result;
}

/// Builds a RankProgram one operation at a time.
class Partitioner {
 public:
  /// `converter` is for the same mesh. Partitioners that share it share its paths.
  Partitioner(Program program, const AbstractMesh& mesh, const Declaration& declaration, Converter& converter)
      : converter_(converter), layouts_(result_, declaration.policy) {
    result_.program = std::move(program);
    result_.mesh = mesh;
    const auto declare = [&](std::map<ArrayId, Sharding>& to, const std::map<ArrayId, Sharding>& layouts) {
      for (const auto& [id, sharding] : layouts) {
        const Array& array = result_.program.array(id);
        to[id] = without_trivial_axes(validated(sharding, array.name, array.dims, mesh), mesh);
      }
    };
    declare(result_.declared, declaration.layouts);
    declare(result_.wanted, declaration.wanted);
    for (const ArrayId input : result_.program.inputs) {
      const auto declared = result_.declared.find(input);
      require(declared != result_.declared.end(), "input {} has no declared sharding",
              to_string(result_.program.array(input)));
      const VersionId version = new_version(input, declared->second, {}, true);
      result_.inputs[input] = version;
      layouts_.set(input, {version});
    }
  }

  Partitioner(const Partitioner&) = delete;
  Partitioner& operator=(const Partitioner&) = delete;

  const RankProgram& program() const { return result_; }
  const Layouts& layouts() const { return layouts_; }

  /// Emits operation `number` under an assignment. False if some layout is impossible.
  bool emit(int number, const Assignment& assignment) {
    operation_ = number;
    const Operation& op = result_.program.operations[static_cast<std::size_t>(number)];
    for (std::size_t p = 0; p < op.phases.size(); ++p) {
      if (!emit_phase(op, static_cast<int>(p), assignment)) return false;
    }
    return std::all_of(op.results.begin(), op.results.end(), [&](ArrayId a) { return settle(a, op.region); });
  }

  /// What emit() of one operation may change.
  struct Mark {
    std::size_t versions = 0;
    std::size_t steps = 0;
    std::map<ArrayId, std::vector<VersionId>> arrays;  ///< empty for arrays that do not exist yet
  };

  Mark mark(int number) const {
    Mark mark{result_.versions.size(), result_.steps.size(), {}};
    for (const Phase& phase : result_.program.operations[static_cast<std::size_t>(number)].phases) {
      for (const ArrayId array : phase.operands) mark.arrays[array] = layouts_.has(array) ? layouts_.all(array) : kNone;
      for (const ArrayId array : phase.results) mark.arrays[array] = kNone;
    }
    for (const ArrayId rows : rows_of(mark.arrays)) {
      mark.arrays.try_emplace(rows, layouts_.has(rows) ? layouts_.all(rows) : kNone);
    }
    return mark;
  }

  /// Undoes everything since the mark.
  void roll_back(const Mark& mark) {
    result_.versions.resize(mark.versions);
    result_.steps.resize(mark.steps);
    for (const auto& [array, versions] : mark.arrays) layouts_.set(array, versions);
  }

  RankProgram finish() {
    operation_ = -1;
    for (const ArrayId output : result_.program.outputs) result_.finals[output] = final_version(output);
    for (const auto& [before, after] : result_.program.updates) result_.finals[after] = final_version(after);
    return std::move(result_);
  }

 private:
  inline static const std::vector<VersionId> kNone;

  /// The counts of rows in use that a conversion of these arrays may read.
  std::vector<ArrayId> rows_of(const std::map<ArrayId, std::vector<VersionId>>& arrays) const {
    std::vector<ArrayId> all;
    for (const auto& [array, versions] : arrays) {
      const ArrayId rows = result_.program.array(array).rows;
      if (rows >= 0) all.push_back(rows);
    }
    return all;
  }

  VersionId new_version(ArrayId array, Sharding sharding, Region region, bool stored) {
    result_.versions.push_back({array, std::move(sharding), region, stored});
    return static_cast<VersionId>(result_.versions.size()) - 1;
  }

  bool emit_phase(const Operation& op, int p, const Assignment& assignment) {
    const Phase& phase = op.phases[static_cast<std::size_t>(p)];
    Step step;
    step.operation = operation_;
    step.phase = p;
    step.splits = assignment.splits;
    step.region = op.region;
    for (std::size_t k = 0; k < phase.operands.size(); ++k) {
      const Sharding needed = required_layout(result_.program, op, phase, k, assignment, result_.mesh);
      const VersionId version = convert_nearest(phase.operands[k], needed, op.region);
      if (version < 0) return false;
      step.operands.push_back(version);
    }
    for (std::size_t k = 0; k < phase.results.size(); ++k) {
      const Sharding made = produced_layout(result_.program, op, phase, k, assignment, result_.mesh);
      step.results.push_back(new_version(phase.results[k], made, op.region, true));
      layouts_.set(phase.results[k], {step.results.back()});
    }
    result_.steps.push_back(std::move(step));
    return true;
  }

  /// Brings a new result to its final layout.
  bool settle(ArrayId array, Region region) {
    const VersionId made = layouts_.all(array).back();
    const Sharding natural = result_.version(made).sharding;
    const std::optional<Sharding> wanted = layouts_.wanted(array, &natural);
    if (!wanted || *wanted == natural) return true;
    const ConversionPath& path = converter_.plan(result_.program.array(array).shape, natural, *wanted);
    if (!path.possible) return false;
    const VersionId settled = follow(array, made, path, region);
    result_.versions[static_cast<std::size_t>(settled)].stored = true;
    layouts_.set(array, {settled});
    return true;
  }

  /// The version of `array` in layout `needed`, made from the visible version with the lowest cost.
  /// -1 if no version can become it.
  VersionId convert_nearest(ArrayId array, const Sharding& needed, Region region) {
    const Shape& shape = result_.program.array(array).shape;
    VersionId nearest = -1;
    const ConversionPath* best = nullptr;
    for (const VersionId v : layouts_.visible(array, region)) {
      const ConversionPath& path = converter_.plan(shape, result_.version(v).sharding, needed);
      if (!path.possible || (best != nullptr && best->cost <= path.cost)) continue;
      nearest = v;
      best = &path;
    }
    return best == nullptr ? -1 : follow(array, nearest, *best, region);
  }

  /// Emits the steps of a path. Reuses existing versions.
  VersionId follow(ArrayId array, VersionId from, const ConversionPath& path, Region region) {
    VersionId at = from;
    for (const Conversion& conversion : path.steps) {
      const std::vector<VersionId> visible = layouts_.visible(array, region);
      const auto known = std::find_if(visible.begin(), visible.end(),
                                      [&](VersionId v) { return result_.version(v).sharding == conversion.result; });
      at = known != visible.end() ? *known : convert(array, at, conversion, region);
    }
    return at;
  }

  VersionId convert(ArrayId array, VersionId from, const Conversion& conversion, Region region) {
    const bool pays = conversion.kind == StepKind::all_reduce || conversion.kind == StepKind::reduce_scatter;
    const VersionId made = new_version(array, conversion.result, region, pays);
    Step step;
    step.kind = conversion.kind;
    step.operation = operation_;
    step.operands = {from};
    if (conversion.kind == StepKind::all_to_all &&
        has_rows_between(result_.program.array(array), conversion.from_dim, conversion.to_dim)) {
      for (const VersionId end : {from, made}) step.operands.push_back(rows_beside(end, region));
    }
    step.results = {made};
    step.axes = conversion.axes;
    step.from_dim = conversion.from_dim;
    step.to_dim = conversion.to_dim;
    step.region = region;
    result_.steps.push_back(std::move(step));
    if (pays) drop_owed(array, conversion.axes);
    layouts_.add(array, made);
    return made;
  }

  /// The counts of rows in use, split as the leading dims of a version.
  VersionId rows_beside(VersionId version, Region region) {
    const std::vector<Axes>& dims = result_.version(version).sharding.dims;
    const ArrayId rows = result_.program.array(result_.version(version).array).rows;
    return convert_nearest(rows, {.dims = {dims[0], dims[1]}, .unreduced = {}}, region);
  }

  /// After a debt is paid, the versions that still owe it are dropped for good, but for the one that rests.
  void drop_owed(ArrayId array, const Axes& paid) {
    const std::vector<VersionId> versions = layouts_.all(array);
    for (const VersionId v : versions) {
      const Axes& owed = result_.version(v).sharding.unreduced;
      const bool owes = std::any_of(paid.begin(), paid.end(), [&](const Axis& axis) { return contains(owed, axis); });
      if (owes && !rests(array, v)) layouts_.drop(array, v);
    }
  }

  /// True if the array rests in the layout of this version: a sum may rest owed.
  bool rests(ArrayId array, VersionId version) const {
    const auto declared = result_.declared.find(array);
    return declared != result_.declared.end() && declared->second == result_.version(version).sharding;
  }

  /// The final version of an output. Pays a remaining debt if there is no declared layout.
  VersionId final_version(ArrayId array) {
    const auto wanted = result_.wanted.find(array);
    const auto declared = result_.declared.find(array);
    Sharding resting = result_.version(layouts_.stored(array).at(0)).sharding;
    if (wanted != result_.wanted.end()) {
      resting = wanted->second;
    } else if (declared != result_.declared.end()) {
      resting = declared->second;
    } else {
      resting.unreduced.clear();
      resting.reduce = ReduceOp::sum;
    }
    return convert_nearest(array, resting, {Pass::update, 0});
  }

  RankProgram result_;
  Converter& converter_;
  Layouts layouts_;
  int operation_ = -1;  ///< in progress; -1 at the end
};

/// The assignments of operations by name: given ones, and those of operations that are computed again.
class KnownAssignments {
 public:
  explicit KnownAssignments(Assignments* given) : given_(given) {}

  /// Null if none is known.
  const Assignment* of(const Program& program, const Operation& op) const {
    // Names need not be different, except where the caller says so.
    if (given_ == nullptr && program.array(op.results.at(0)).repeats < 0) return nullptr;
    const Assignments& known = given_ != nullptr ? *given_ : own_;
    const auto found = known.find(name(program, op));
    return found == known.end() ? nullptr : &found->second;
  }

  void note(const Program& program, const Operation& op, const Assignment& assignment) {
    const Array& made = program.array(op.results.at(0));
    const bool new_name = made.repeats >= 0 || names_.insert(made.name).second;
    SHARDLINE_CHECK(given_ == nullptr || new_name, "two operations make {}, and assignments go by name", made.name);
    (given_ != nullptr ? *given_ : own_)[name(program, op)] = assignment;
  }

 private:
  static const std::string& name(const Program& program, const Operation& op) {
    const Array& made = program.array(op.results.at(0));
    return made.repeats < 0 ? made.name : program.array(made.repeats).name;
  }

  Assignments* given_;
  Assignments own_;
  std::set<std::string> names_;  ///< of the first results so far
};

/// The search over a chain of operations.
class ChainSearch {
 public:
  ChainSearch(const Program& program, const AbstractMesh& mesh, const Declaration& declaration,
              const roofline::Hardware& hardware)
      : program_(program), declaration_(declaration), hardware_(hardware), mesh_(mesh), converter_(mesh) {}

  std::vector<Candidate> run() {
    const int last = static_cast<int>(program_.operations.size()) - 1;
    std::vector<Way> ways(1);
    for (int number = 0; number < last; ++number) {
      const ArrayId made = program_.operations[static_cast<std::size_t>(number)].results.at(0);
      ways = extend(ways, number, [&](const Partitioner& at, const Assignment&) {
        return Key{at.program().version(at.layouts().all(made).at(0)).sharding, {}, {}};
      });
    }
    if (last >= 0) {
      ways = extend(ways, last, [](const Partitioner&, const Assignment& assignment) {
        return Key{{}, assignment.splits, assignment.debts};
      });
    }
    std::vector<Candidate> candidates;
    for (const Way& way : ways) candidates.push_back(finished(way));
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return cheaper(a.price, b.price); });
    return candidates;
  }

 private:
  /// Ways with equal keys lead to the same point. The key is the layout of the array that the next
  /// operation reads, or what the axes do in the last operation.
  using Key = std::tuple<Sharding, std::vector<Axes>, std::map<Axis, int>>;

  /// The assignments of the first operations, and their price.
  struct Way {
    std::vector<Assignment> assignments;
    ProgramPrice price;
  };

  /// A partitioner after the operations of a way.
  class Replay : public Partitioner {
   public:
    Replay(ChainSearch& search, const Way& way)
        : Partitioner(search.program_, search.mesh_, search.declaration_, search.converter_) {
      for (std::size_t i = 0; i < way.assignments.size(); ++i) emit(static_cast<int>(i), way.assignments[i]);
    }
  };

  /// The cheapest way to each key through operation `number`, in order of first arrival.
  template <class KeyOf>
  std::vector<Way> extend(const std::vector<Way>& ways, int number, KeyOf key_of) {
    const Operation& op = program_.operations[static_cast<std::size_t>(number)];
    std::vector<Way> next;
    std::map<Key, std::size_t> known;
    for (const Way& way : ways) {
      const Replay before(*this, way);
      for (const Assignment& assignment : all_assignments(op, before.layouts(), before.program())) {
        Replay after(*this, way);
        const std::size_t first = after.program().steps.size();
        if (!after.emit(number, assignment)) continue;
        Way longer{way.assignments, price(after.program(), hardware_, first, &reshards_)};
        longer.assignments.push_back(assignment);
        longer.price.total += way.price.total;
        longer.price.sum += way.price.sum;
        const auto [place, added] = known.emplace(key_of(after, assignment), next.size());
        if (added) {
          next.push_back(std::move(longer));
        } else if (cheaper(longer.price, next[place->second].price)) {
          next[place->second] = std::move(longer);
        }
      }
    }
    return next;
  }

  Candidate finished(const Way& way) {
    RankProgram program = Replay(*this, way).finish();
    name_wires(program, hardware_.bf16_wire);
    ProgramPrice whole = price(program, hardware_);
    return {std::move(program), std::move(whole)};
  }

  const Program& program_;
  const Declaration& declaration_;
  const roofline::Hardware& hardware_;
  const AbstractMesh& mesh_;
  Converter converter_;
  ReshardMemo reshards_;
};

/// Checks that the search is exact: only one operation reads each array, and it is the next one.
void check_chain(const Program& program) {
  const std::vector<Operation>& operations = program.operations;
  std::map<ArrayId, std::size_t> read;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (const ArrayId operand : operations[i].operands) {
      const auto [first, added] = read.emplace(operand, i);
      SHARDLINE_CHECK(first->second == i, "operations {} and {} of a chain both read {}", first->second, i,
                      to_string(program.array(operand)));
    }
    if (i + 1 == operations.size()) break;
    const ArrayId made = operations[i].results.at(0);
    const std::vector<ArrayId>& next = operations[i + 1].operands;
    SHARDLINE_CHECK(operations[i].results.size() == 1 && std::find(next.begin(), next.end(), made) != next.end(),
                    "operation {} of a chain does not make one array that the next one reads", i);
  }
}

}  // namespace

RankProgram partition(Program program, const AbstractMesh& mesh, const Declaration& declaration,
                      Assignments* assignments) {
  Converter converter(mesh);
  Partitioner partitioner(std::move(program), mesh, declaration, converter);
  const RankProgram& made = partitioner.program();
  KnownAssignments known(assignments);
  for (std::size_t i = 0; i < made.program.operations.size(); ++i) {
    const Operation& op = made.program.operations[i];
    const Assignment* before = known.of(made.program, op);
    const Assignment assignment =
        before != nullptr ? *before : assign_by_table(op, partitioner.layouts(), made, declaration.work);
    known.note(made.program, op, assignment);
    SHARDLINE_CHECK(partitioner.emit(static_cast<int>(i), assignment), "operation {} cannot be partitioned over {}",
                    op.kind, mesh.to_string());
  }
  return partitioner.finish();
}

RankProgram partition_by_price(Program program, const AbstractMesh& mesh, const Declaration& declaration,
                               const roofline::Hardware& hardware, Assignments* assignments) {
  Converter converter(mesh);
  Partitioner partitioner(std::move(program), mesh, declaration, converter);
  const RankProgram& made = partitioner.program();
  ReshardMemo reshards;
  KnownAssignments known(assignments);
  for (int i = 0; i < static_cast<int>(made.program.operations.size()); ++i) {
    const Operation& op = made.program.operations[static_cast<std::size_t>(i)];
    const Partitioner::Mark before = partitioner.mark(i);
    std::optional<Assignment> best;
    ProgramPrice lowest;
    const Assignment* first = known.of(made.program, op);
    for (const Assignment& assignment :
         first != nullptr ? std::vector{*first} : all_assignments(op, partitioner.layouts(), made)) {
      if (partitioner.emit(i, assignment)) {
        ProgramPrice its = price(made, hardware, before.steps, &reshards);
        if (!best || cheaper(its, lowest)) best = assignment, lowest = std::move(its);
      }
      partitioner.roll_back(before);
    }
    SHARDLINE_CHECK(best && partitioner.emit(i, *best), "operation {} cannot be partitioned over {}", op.kind,
                    mesh.to_string());
    known.note(made.program, op, *best);
  }
  return partitioner.finish();
}

std::vector<Candidate> partition_all(const Program& program, const AbstractMesh& mesh, const Declaration& declaration,
                                     const roofline::Hardware& hardware) {
  check_chain(program);
  constexpr std::size_t kMostAxes = 5;  // takes three seconds; six take minutes
  require(mesh.axes_that_move().size() <= kMostAxes,
          "mesh {}: all ways to use {} axes would be priced, which takes too long; at most {} axes larger than 1",
          mesh.to_string(), mesh.axes_that_move().size(), kMostAxes);
  return ChainSearch(program, mesh, declaration, hardware).run();
}

}  // namespace shardline
