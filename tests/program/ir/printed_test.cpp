// Every printed line of a product or a conversion parses, and prints the same again. Lines of other kernels do
// not parse. The programs are products, conversions and Transformers.

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "program/ir/print.h"
#include "program/product/product.h"
#include "runtime/layout/notation.h"
#include "tests/program/prices.h"
#include "tests/program/programs.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

/// The lines of many programs.
struct Seen {
  std::set<std::string> typed;  ///< the lines that parse
  std::set<StepKind> conversions;
  std::set<const Kernel*> outside;  ///< kernels whose lines do not parse
};

void expect_same(const ParsedArray& parsed, const RankProgram& program, VersionId id, const std::string& line) {
  EXPECT_EQ(parsed.name, program.array_of(id).name) << line;
  EXPECT_EQ(parsed.dims, program.array_of(id).dims) << line;
  EXPECT_EQ(parsed.sharding, program.version(id).sharding) << line;
}

void expect_parses(const RankProgram& program, Seen& seen) {
  for (const Step& step : program.steps) {
    const std::string line = to_string(program, step);
    const bool computes = step.kind == StepKind::compute;
    if (computes && program.phase_of(step).kernel->form != KernelForm::product) {
      EXPECT_NE(usage_message([&] { parse_product(line); }), "nothing was refused") << line;
      seen.outside.insert(program.phase_of(step).kernel);
      continue;
    }
    const ParsedProduct parsed = parse_product(line);
    EXPECT_EQ(to_string(parsed), line);
    const std::string moves = line.substr(line.find(" = ") + 3);  // in the form of tables of candidates
    EXPECT_EQ(to_string(parse_product(moves)), moves);
    EXPECT_EQ(parsed.collective.has_value(), !computes) << line;
    ASSERT_EQ(parsed.operands.size(), step.operands.size()) << line;
    for (std::size_t i = 0; i < parsed.operands.size(); ++i) {
      expect_same(parsed.operands[i], program, step.operands[i], line);
    }
    ASSERT_TRUE(parsed.result) << line;
    expect_same(*parsed.result, program, step.results[0], line);
    if (!computes) {
      EXPECT_EQ(parsed.collective->subscript, step.axes) << line;
      seen.conversions.insert(step.kind);
    }
    // A user can type the line: the program of this line is the same operation.
    if (!seen.typed.insert(line).second) continue;
    std::map<std::string, Index> sizes;
    for (const ParsedArray& operand : parsed.operands) {
      for (const std::string& dim : operand.dims) sizes[dim] = program.program.sizes.at(dim);
    }
    EXPECT_NO_THROW(make_product(parsed, sizes, program.mesh)) << line;
  }
}

const std::map<std::string, Index> kSizes{{"I", 5}, {"J", 6}, {"K", 7}, {"heads", 4}};

TEST(PrintedLines, OfProductsParse) {
  Seen seen;
  for (const char* text :
       {"A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", "A[I_X, J] * B[J, K_Y] -> C[I, K]",
        "A[I, J_X] * B[J_X, K] -> C[I, K_X]", "A[I_X, J] * B[J, K_X] -> C[I_Y, K]",
        "A[I, J_XY] * B[J_Y, K]{U_X} -> C[I, K]{U_Y}", "A[I_XY, J] * B[J_YX, K] -> C[K_X, I]",
        "A[I, J_X, heads] * B[J_X, heads_Y] -> C[I]", "A[I_X, J] * B[J, K_X] * D[K, J] -> E[I, J_X]"}) {
    for (const char* mesh : {"X=2,Y=2", "X=1,Y=3", "Y=2,X=4"}) {
      const ParsedProduct parsed = parse_product(text);
      std::map<std::string, Index> sizes;
      for (const ParsedArray& operand : parsed.operands) {
        for (const std::string& dim : operand.dims) sizes[dim] = kSizes.at(dim);
      }
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const Product product = make_product(parsed, sizes, AbstractMesh::parse(mesh), {dtype, dtype});
        EXPECT_EQ(make_product(parse_product(product.to_string()), sizes, product.mesh).to_string(),
                  product.to_string());
        for (const Candidate& each : product.candidates(bandwidth_bound(product.mesh))) {
          expect_parses(each.program, seen);
        }
      }
    }
  }
  EXPECT_TRUE(seen.typed.contains("C[I]{U_X} = A[I, J_X, heads] *_{J,heads} B[J_X, heads]"));
  EXPECT_TRUE(seen.typed.contains("C[I, K_X] = ReduceScatter_X(C[I, K]{U_X}) over wire exchange"));
  EXPECT_GT(seen.typed.size(), 300U);
  EXPECT_TRUE(seen.outside.empty());
}

TEST(PrintedLines, OfConversionsParse) {
  // Every legal layout of two dims over two axes, with and without unreduced axes, to every other.
  std::vector<std::string> layouts;
  for (const char* dims : {"I, J", "I_X, J", "I, J_X", "I_X, J_Y", "I_XY, J", "I_YX, J", "I, J_XY", "I_Y, J_X"}) {
    for (const char* debt : {"", "{U_X}", "{U_Y}", "{U_XY}"}) layouts.push_back(fmt::format("A[{}]{}", dims, debt));
  }
  layouts.insert(layouts.end(), {"A[I_{data}, J]", "A[I_{model,data}, J]", "A[I, J_{model}]{U_{data}}"});
  const AbstractMesh letters = AbstractMesh::parse("X=2,Y=3");
  const AbstractMesh names = AbstractMesh::parse("data=2,model=2");
  Seen seen;
  for (const std::string& from : layouts) {
    for (const std::string& to : layouts) {
      const AbstractMesh& mesh =
          from.find("data") == std::string::npos && from.find("model") == std::string::npos ? letters : names;
      std::optional<Product> product;
      try {
        product =
            make_product(parse_product(from + " -> " + to), {{"I", 5}, {"J", 6}}, mesh, {DType::bf16, DType::bf16});
      } catch (const UsageError&) {  // an axis used twice, or an axis of the other mesh
        continue;
      }
      expect_parses(product->candidates(bandwidth_bound(mesh)).at(0).program, seen);
    }
  }
  EXPECT_EQ(seen.conversions.size(), 7U);
  EXPECT_GT(seen.typed.size(), 100U);
  EXPECT_TRUE(seen.typed.contains("A[I_{model}, J] = AllGather_{data}(A[I_{model,data}, J])"));
}

TEST(PrintedLines, OfTransformersParseButForOtherKernels) {
  Seen seen;
  const TrainingStep step = small_training_step(false, true, 2);
  const Model inference = make_inference(small_config(true), small_batch(true));
  const Model evaluation = make_evaluation(small_config(true, true), small_batch(true));
  for (const Program* program : {&step.model.program, &inference.program, &evaluation.program}) {
    for (const char* strategy : {"dp", "zero1", "fsdp"}) expect_parses(partitioned(*program, "X=2", strategy), seen);
    for (const char* strategy : {"tp", "tp_seq", "tp_g"}) expect_parses(partitioned(*program, "Y=2", strategy), seen);
    for (const char* strategy : {"dp=W,fsdp=X,tp_seq=Y", "fsdp=W,fsdp=X,tp=Y", "zero1=W,tp_seq=X,tp_g=Y"}) {
      expect_parses(partitioned(*program, "W=2,X=2,Y=2", strategy), seen);
    }
    expect_parses(partitioned(*program, "data=2,model=2", "fsdp=data,tp_seq=model"), seen);
  }
  EXPECT_TRUE(seen.conversions.contains(StepKind::all_reduce));
  std::set<std::string> outside;
  for (const Kernel* kernel : seen.outside) outside.emplace(kernel->name);
  const std::set<std::string> others = {"add",
                                        "silu_mul",
                                        "silu_mul_grad",
                                        "sum_squares_rows",
                                        "normalize",
                                        "norm_dot",
                                        "norm_grad",
                                        "rope",
                                        "attention",
                                        "attention_grad",
                                        "embed",
                                        "embed_grad",
                                        "row_max",
                                        "sum_exp",
                                        "pick",
                                        "negative_log_likelihood",
                                        "cross_entropy_grad",
                                        "sum_squares",
                                        "adamw"};
  EXPECT_EQ(outside, others);
}

}  // namespace
}  // namespace shardline
