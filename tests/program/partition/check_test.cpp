#include "program/partition/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "program/ir/print.h"
#include "program/ops/einsum.h"
#include "program/ops/gelu.h"
#include "program/partition/partition.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"
#include "tests/program/scale.h"

/// The checker accepts the programs of the partitioner, and refuses each with one planted fault.
namespace shardline {
namespace {

/// Programs that together have every kind of step and phase.
std::vector<RankProgram> programs() {
  const Mlp mlp = make_mlp({8, 6, 10});
  const TrainingStep step = small_training_step(true);
  return {
      partitioned(mlp.program, "X=2,Y=2", "fsdp+tp"),
      partitioned(mlp.program, "X=2,Y=2", "fsdp=X,fsdp=Y"),
      partitioned(step.model.program, "X=2", "zero1"),
      partitioned(step.model.program, "X=2,Y=2", "fsdp+tp", kRegather),
      partitioned(step.model.program, "X=2,Y=2", "fsdp+tp_seq"),
      partitioned(step.model.program, "X=2,Y=2", "dp=X,tp_g=Y"),
  };
}

/// The checker's message about `program`; "accepted" if it has none.
std::string verdict(const RankProgram& program) {
  try {
    check(program);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// Expects a refusal that shows the wrong step ("... = ...") or names an input, output or state.
void expect_refused(const RankProgram& program, const std::string& fault) {
  const std::string words = verdict(program);
  const bool names = words.find(" = ") != std::string::npos || words.rfind("output ", 0) == 0 ||
                     words.rfind("input ", 0) == 0 || words.rfind("state ", 0) == 0;
  EXPECT_TRUE(names) << fault << ": " << words;
}

bool reads(const Step& step, VersionId v) {
  return std::find(step.operands.begin(), step.operands.end(), v) != step.operands.end();
}

void use_instead(RankProgram& program, VersionId gone, VersionId instead) {
  for (Step& step : program.steps) std::replace(step.operands.begin(), step.operands.end(), gone, instead);
  for (auto& [array, version] : program.finals) version = version == gone ? instead : version;
}

/// Calls body(copy of the program, index of the step) for every step. A debug build takes every seventh step.
template <class Body>
void for_each_step(Body body) {
  for (const RankProgram& program : programs()) {
    for (std::size_t i = 0; i<program.steps.size(); i += kFewer> 1 ? 7 : 1) body(program, i);
  }
}

bool occurs(const Phase& phase, std::size_t index) {
  const auto has = [&](const std::vector<Subscripts>& lists) {
    return std::any_of(lists.begin(), lists.end(), [&](const Subscripts& s) {
      return std::find(s.begin(), s.end(), static_cast<int>(index)) != s.end();
    });
  };
  return has(phase.operand_subscripts) || has(phase.result_subscripts);
}

TEST(Check, AcceptsWhatThePartitionerMakes) {
  std::set<StepKind> kinds;
  for (const RankProgram& program : programs()) {
    EXPECT_EQ(verdict(program), "accepted");
    for (const Step& step : program.steps) kinds.insert(step.kind);
  }
  for (const StepKind kind : {StepKind::compute, StepKind::all_gather, StepKind::reduce_scatter, StepKind::all_reduce,
                              StepKind::slice, StepKind::owe}) {
    EXPECT_EQ(kinds.count(kind), 1U) << static_cast<int>(kind);
  }
}

TEST(Check, RefusesAMissingConversion) {
  for_each_step([](RankProgram program, std::size_t i) {
    const Step step = program.steps[i];
    if (step.kind == StepKind::compute) return;
    const std::string text = to_string(program, step);
    program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(i));
    use_instead(program, step.results[0], step.operands[0]);
    expect_refused(program, "without " + text);
  });
}

TEST(Check, RefusesOtherAxes) {
  for_each_step([](RankProgram program, std::size_t i) {
    Step& step = program.steps[i];
    if (step.kind == StepKind::compute) return;
    const std::string text = to_string(program, step);
    if (step.axes.size() == 1 && program.mesh.axes().size() == 2) {
      step.axes[0] = program.mesh.axes()[step.axes[0] == program.mesh.axes()[0] ? 1 : 0];
      expect_refused(program, "another axis in " + text);
    } else if (step.axes.size() == 2 && step.kind != StepKind::all_reduce && step.kind != StepKind::owe) {
      std::swap(step.axes[0], step.axes[1]);
      expect_refused(program, "swapped axes in " + text);
    }
  });
}

TEST(Check, RefusesOtherDims) {
  for_each_step([](RankProgram program, std::size_t i) {
    Step& step = program.steps[i];
    const std::string text = to_string(program, step);
    for (int* dim : {&step.from_dim, &step.to_dim}) {
      if (*dim < 0) continue;
      const int right = *dim;
      for (const int wrong : {right - 1, right + 1}) {
        *dim = wrong;
        expect_refused(program, "another dim in " + text);
      }
      *dim = right;
    }
  });
}

TEST(Check, RefusesWrongSplits) {
  for_each_step([](RankProgram program, std::size_t i) {
    Step& step = program.steps[i];
    if (step.kind != StepKind::compute) return;
    const std::string text = to_string(program, step);
    for (std::size_t index = 0; index < step.splits.size(); ++index) {
      if (!occurs(program.phase_of(step), index)) continue;
      const Axes right = step.splits[index];
      if (!right.empty()) {
        step.splits[index].clear();
        expect_refused(program, "an index not split in " + text);
      }
      step.splits[index] = right;
      step.splits[index].push_back(program.mesh.axes()[0]);
      expect_refused(program, "an index split once more in " + text);
      step.splits[index] = right;
    }
    step.splits.emplace_back();
    expect_refused(program, "splits of an index too many in " + text);
  });
}

TEST(Check, RefusesDebtsLostOrInvented) {
  for_each_step([](RankProgram program, std::size_t i) {
    const Step step = program.steps[i];
    const std::string text = to_string(program, step);
    for (const VersionId v : step.results) {
      Sharding& sharding = program.versions[static_cast<std::size_t>(v)].sharding;
      const Sharding right = sharding;
      for (const Axis& axis : program.mesh.axes()) {
        if (right.dim_of(axis) >= 0) continue;
        if (contains(right.unreduced, axis)) {
          sharding.unreduced = without(right.unreduced, axis);
        } else {
          sharding.unreduced = program.mesh.in_mesh_order([&] {
            Axes more = right.unreduced;
            more.push_back(axis);
            return more;
          }());
        }
        expect_refused(program, "another debt over " + axis + " in " + text);
        sharding = right;
      }
    }
  });
}

TEST(Check, RefusesVersionsUsedBeforeTheyAreMade) {
  for_each_step([](RankProgram program, std::size_t i) {
    const Step step = program.steps[i];
    const std::string text = to_string(program, step);
    const auto user = std::find_if(program.steps.begin(), program.steps.end(), [&](const Step& s) {
      return std::any_of(step.results.begin(), step.results.end(), [&](VersionId v) { return reads(s, v); });
    });
    if (user == program.steps.end()) return;
    const auto made = program.steps.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(made, made + 1, user + 1);
    expect_refused(program, "made too late: " + text);
  });
}

TEST(Check, RefusesStepsThatReadAnotherArray) {
  for_each_step([](RankProgram program, std::size_t i) {
    Step& step = program.steps[i];
    const std::string text = to_string(program, step);
    const VersionId other = program.inputs.begin()->second;
    if (program.version(other).array == program.version(step.operands[0]).array) return;
    step.operands[0] = other;
    expect_refused(program, "another array in " + text);
  });
}

TEST(Check, RefusesRepeatedSteps) {
  for_each_step([](RankProgram program, std::size_t i) {
    const Step step = program.steps[i];
    program.steps.push_back(step);
    expect_refused(program, "twice: " + to_string(program, step));
  });
}

/// Outputs and updated state must end in their declared layout, reduced. Each must have a final version that
/// some step makes.
TEST(Check, RefusesOutputsThatDoNotRestAsDeclared) {
  for (const RankProgram& right : programs()) {
    for (const auto& [array, version] : right.finals) {
      const std::string& name = right.program.array(array).name;
      RankProgram program = right;
      program.finals.erase(array);
      EXPECT_EQ(verdict(program), "output " + name + " has no final version");
      program.versions.push_back(right.version(version));
      program.finals[array] = static_cast<VersionId>(program.versions.size()) - 1;
      EXPECT_EQ(verdict(program), "output " + name + " is never made");
      for (VersionId other = 0; other < static_cast<VersionId>(right.versions.size()); ++other) {
        if (other == version || right.version(other).array != array) continue;
        program.finals[array] = other;
        expect_refused(program, "output " + name + " in another layout");
      }
    }
  }
}

TEST(Check, NamesTheFault) {
  const Mlp mlp = make_mlp({8, 6, 10});
  RankProgram program = partitioned(mlp.program, "X=2", "dp");
  use_instead(program, program.steps[3].results[0], program.steps[3].operands[0]);
  EXPECT_EQ(verdict(program), "output rests as dW_out[F, D]{U_X}, declared dW_out[F, D]");
  program = partitioned(mlp.program, "X=2", "fsdp");
  use_instead(program, program.steps[0].results[0], program.steps[0].operands[0]);
  EXPECT_EQ(verdict(program),
            "index D is split by nothing but W_in is not laid so: Tmp[B_X, F] = In[B_X, D] *_D W_in[D_X, F]");
}

/// After a run, parameters, moments and outputs have the layouts of the table, so the next run can begin.
/// Every array of a program in turn gets another type. Some kernel that reads or makes it cannot run then.
TEST(Check, RefusesElementTypesThatNoKernelRunsOn) {
  for (const RankProgram& program : programs()) {
    for (const Array& array : program.program.arrays) {
      if (is_integer(array.dtype)) continue;
      RankProgram changed = program;
      changed.program.array(program.program.find(array.name)).dtype = DType::f64;
      EXPECT_NE(verdict(changed), "accepted") << array.name;
    }
  }
}

/// Products read bf16 and make it, or f32. Other kernels keep the type of what they store. No kernel of an update takes
/// bf16.
TEST(Check, ElementTypesFitTheKernel) {
  const auto of = [](DType operand, DType result, bool product) {
    Program program;
    program.sizes = {{"I", 4}, {"J", 4}, {"K", 4}};
    const ArrayId x = program.add_input("x", {"I", "J"}, Role::activation);
    const ArrayId w = program.add_input("w", {"J", "K"}, Role::activation);
    const ArrayId y = product ? einsum(program, "y", {x, w}, {"I", "K"}) : gelu(program, "y", x);
    program.array(x).dtype = operand;
    program.array(w).dtype = result == DType::bf16 ? result : DType::f32;
    program.array(y).dtype = result;
    program.outputs = {y};
    const Declaration declaration{
        .layouts = {{x, Sharding::replicated(2)}, {w, Sharding::replicated(2)}, {y, Sharding::replicated(2)}},
        .work = {},
        .policy = {}};
    return verdict(partition(program, AbstractMesh::parse("X=2"), declaration));
  };
  EXPECT_EQ(of(DType::bf16, DType::f32, true), "accepted");
  EXPECT_EQ(of(DType::f32, DType::f32, false), "accepted");
  EXPECT_EQ(of(DType::bf16, DType::bf16, true), "accepted");
  EXPECT_EQ(of(DType::bf16, DType::bf16, false), "accepted");
  EXPECT_EQ(of(DType::bf16, DType::f32, false), "y of f32 beside x of bf16: y[I, J] = gelu(x[I, J], f32)");
  EXPECT_EQ(of(DType::f32, DType::bf16, true), "x of f32 beside y of bf16: y[I, K] = x[I, J] *_J w[J, K]");
  EXPECT_EQ(of(DType::i32, DType::f32, false), "gelu reads bf16, f32 or f64, not i32: y[I, J] = gelu(x[I, J])");
  EXPECT_EQ(of(DType::bf16, DType::f64, true), "x of bf16 beside y of f64: y[I, K] = x[I, J] *_J w[J, K]");
}

/// Sums over elements in bf16 are in f32, masters and gradients of the update too.
TEST(Check, SumsBesideBf16AreF32) {
  const TransformerConfig config = small_config(false, true);
  const TrainingStep step =
      make_training_step(config, {2, 4}, AdamW{}, {.model = DType::bf16, .moments = DType::f32, .weights = DType::f32});
  const RankProgram program = partitioned(step.model.program, "X=2,Y=2", "fsdp+tp");
  EXPECT_EQ(verdict(program), "accepted");
  for (const char* name : {"y1.squares", "o1.lse", "loss.max", "loss.sum", "loss", "W_up1", "dW_up1", "m.W_up1"}) {
    RankProgram changed = program;
    Array& array = changed.program.array(changed.program.find(name));
    EXPECT_EQ(array.dtype, DType::f32) << name;
    array.dtype = DType::bf16;
    EXPECT_NE(verdict(changed), "accepted") << name;
  }
}

TEST(Check, StateRestsInItsDeclaredLayouts) {
  const TrainingStep step = small_training_step(false, true, 2);
  for (const char* strategy : {"fsdp+tp", "fsdp+tp_seq", "dp=X,tp=Y", "zero1=X,tp_g=Y"}) {
    const RankProgram program = partitioned(step.model.program, "X=2,Y=3", strategy);
    EXPECT_EQ(program.program.updates.size(), 3 * step.model.parameters.size());
    for (const auto& [before, after] : program.program.updates) {
      EXPECT_EQ(program.version(program.finals.at(after)).sharding, program.version(program.inputs.at(before)).sharding)
          << strategy << ' ' << program.program.array(after).name;
    }
    for (const ArrayId output : program.program.outputs) {
      EXPECT_EQ(program.version(program.finals.at(output)).sharding, program.declared.at(output))
          << strategy << ' ' << program.program.array(output).name;
    }
  }
}

}  // namespace
}  // namespace shardline
