#include "collectives/run/staging.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline::collectives {
namespace {

bool overlap(const Tensor& a, const Tensor& b) {
  const std::less<> before;
  return a.bytes() > 0 && b.bytes() > 0 && before(a.data(), b.data() + b.bytes()) &&
         before(b.data(), a.data() + a.bytes());
}

[[noreturn]] void refuse_overlap(const Job& job, const Tensor& in, const Tensor& out, const char* legal) {
  throw Error(fmt::format("{}: {} and {} overlap in memory; {}", job.label(), to_string(in.shape()),
                          to_string(out.shape()), legal));
}

}  // namespace

Job make_job(const Engine& engine, const std::string& name, const Axes& axes, const Tensor& in, Tensor& out) {
  const Mesh& mesh = engine.mesh();
  Job job;
  job.name = name;
  job.group = &mesh.moving_group(axes);
  if (job.group->comm != nullptr) job.tag = job.group->comm->next_tag(kMostStrands);
  job.link = job.group->one_node ? LinkKind::node : LinkKind::network;
  if (in.dtype() != out.dtype()) {
    throw Error(fmt::format("{}: in is {}, out is {}; their element types must be equal", job.label(),
                            name_of(in.dtype()), name_of(out.dtype())));
  }
  job.dtype = in.dtype();
  job.input = in.data();
  job.input_size = in.size();
  job.output = out.data();
  job.kept = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  job.kept->reserve(4);
  job.kept->push_back(in.memory());
  job.kept->push_back(out.memory());
  return job;
}

void accept_fed(Job& job, int dim, const Options& options) {
  require(!options.fed || dim == 0,
          "{}: fed along dim {}; only along dim 0 are elements needed in an order of their own", job.label(), dim);
  job.fed = options.fed;
}

void refuse_fed(const Job& job, const Options& options) {
  require(!options.fed, "{}: it cannot be fed; all_gather, reduce_scatter and all_reduce can", job.label());
}

Algorithm resolve(const Engine& engine, Job& job, Question question, const Options& options) {
  const bool messages = options.algorithm != Algorithm::direct && options.algorithm != Algorithm::native;
  require(!job.fed || messages, "{}: fed by algorithm {}; ring, bidirectional, pairwise and doubling can be fed",
          job.label(), name_of(options.algorithm));
  question.direct = question.direct && !job.fed;
  const bool reduces = question.kind == Kind::reduce_scatter || question.kind == Kind::all_reduce;
  if (reduces && job.op == ReduceOp::avg && is_integer(job.dtype)) {
    usage_error("{}: an average of {}; averages are of f32, f64 and bf16", job.label(), name_of(job.dtype));
  }
  if (job.positions() == 1) return job.algorithm = Algorithm::ring;
  job.algorithm = options.algorithm;
  if (options.algorithm == Algorithm::automatic) {
    question.link = job.link;
    question.ranks = job.positions();
    question.reduces_bf16 = reduces && job.dtype == DType::bf16;
    question.wire = options.wire;
    question.uniform = options.uniform;
    job.algorithm = choose(engine.tuning(), question);
  }
  if (reduces && job.algorithm != Algorithm::native) job.wire = wire_for(options.wire, job.algorithm, job.dtype);
  return job.algorithm;
}

Placement placement_of(const Job& job, const Mesh& mesh) {
  Placement placement;
  for (const Axis& axis : job.group->axes) placement.axis_sizes.push_back(mesh.axes().size(axis));
  placement.position = job.position();
  return placement;
}

bool same_memory(const Job& job, const Tensor& in, const Tensor& out) {
  if (!overlap(in, out)) return false;
  if (in.data() == out.data() && in.bytes() == out.bytes()) return true;
  refuse_overlap(job, in, out, "they must be the same or apart");
}

bool block_in_place(const Job& job, const Tensor& part, const Tensor& whole, int dim, Range range) {
  if (!overlap(part, whole)) return false;
  const Chunks block = chunks_of(whole.shape(), {cut(whole.shape(), dim, range)});
  if (!block.packed && part.data() == whole.data() + block.ranges[0].begin * job.element_size()) return true;
  refuse_overlap(job, part, whole, "the one must be this position's block of the other, or they must be apart");
}

void check_shapes(const Job& job, const Tensor& in, const Tensor& out, std::initializer_list<int> except) {
  const auto dims = static_cast<int>(in.shape().size());
  const auto fail = [&](const std::string& why) {
    throw Error(
        fmt::format("{}: in is {}, out is {}: {}", job.label(), to_string(in.shape()), to_string(out.shape()), why));
  };
  if (out.shape().size() != in.shape().size()) fail("they must have the same number of dims");
  for (const int dim : except) {
    if (dim < 0 || dim >= dims) fail(fmt::format("there is no dim {}", dim));
  }
  for (int d = 0; d < dims; ++d) {
    const bool may_differ = std::find(except.begin(), except.end(), d) != except.end();
    if (!may_differ && in.extent(d) != out.extent(d)) fail(fmt::format("they must agree in dim {}", d));
  }
}

void check_extent(const Job& job, const char* name, const Tensor& tensor, int dim, Index expected) {
  if (tensor.extent(dim) == expected) return;
  throw Error(fmt::format("{}: {} is {}; on {} of {} its dim {} must be {}, not {}", job.label(), name,
                          to_string(tensor.shape()), job.peer(job.position()), job.positions(), dim, expected,
                          tensor.extent(dim)));
}

void place_whole(Job& job, const Tensor& in, Tensor& out) {
  job.placed = {0, in.size()};
  if (job.fed || in.bytes() == 0 || in.data() == out.data()) return;
  std::memcpy(out.data(), in.data(), static_cast<std::size_t>(in.bytes()));
}

std::vector<Range> blocks_of(const Job& job, const Mesh& mesh, Index n) {
  return nested_blocks(n, job.group->axes, mesh.axes());
}

Chunks stage_input(Job& job, ScratchPool& pool, const Tensor& in, const std::vector<Box>& boxes) {
  Chunks chunks = chunks_of(in.shape(), boxes);
  if (chunks.packed) return pack_input(job, pool, in, boxes);
  return chunks;
}

Chunks pack_input(Job& job, ScratchPool& pool, const Tensor& in, const std::vector<Box>& boxes) {
  Chunks chunks = packed_chunks(boxes);
  const Index item = job.element_size();
  const std::shared_ptr<std::byte> packed = pool.take(chunks.size() * item);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Shape shape = extents(boxes[i]);
    copy_box({in.data(), in.shape(), boxes[i]}, {packed.get() + chunks.ranges[i].begin * item, shape, whole(shape)},
             item);
  }
  job.input = packed.get();
  job.kept->push_back(packed);
  job.packed_bytes += chunks.size() * item;
  return chunks;
}

Chunks stage_output(Job& job, ScratchPool& pool, Tensor& out, const std::vector<Box>& boxes) {
  Chunks chunks = chunks_of(out.shape(), boxes);
  if (!chunks.packed) return chunks;
  const Index item = job.element_size();
  const std::shared_ptr<std::byte> packed = pool.take(chunks.size() * item);
  job.output = packed.get();
  job.kept->push_back(packed);
  job.packed_bytes += chunks.size() * item;
  job.finish = [packed, out, boxes, chunks, item, own = job.position()]() mutable {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (static_cast<Index>(i) == own) continue;
      const Shape shape = extents(boxes[i]);
      copy_box({packed.get() + chunks.ranges[i].begin * item, shape, whole(shape)}, {out.data(), out.shape(), boxes[i]},
               item);
    }
  };
  return chunks;
}

}  // namespace shardline::collectives
