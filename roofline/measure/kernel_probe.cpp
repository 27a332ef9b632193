#include "roofline/measure/kernel_probe.h"

#include <array>
#include <deque>
#include <vector>

#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/einsum/einsum.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "roofline/measure/repeat.h"
#include "runtime/base/counter_rng.h"

namespace shardline::roofline {
namespace {

/// Arrays and the kernels run on them, one after the other.
template <class T>
class Bench {
 public:
  Bench(const mpi::Communicator& comm, Seconds budget) : comm_(comm), budget_(budget) {}

  std::map<std::string, FlopsPerSecond> run() {
    elementwise();
    rows();
    losses();
    attention();
    embedding();
    return std::move(rates_);
  }

 private:
  static constexpr Index kSize = sizeof(T);

  /// An array of values between 0 and 1 that are all different.
  View<T> array(const Shape& shape) {
    std::vector<T>& values = arrays_.emplace_back(static_cast<std::size_t>(element_count(shape)));
    const CounterRng rng(1, std::to_string(arrays_.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(rng.uniform(static_cast<Index>(i)));
    return {values.data(), shape};
  }
  View<const std::int32_t> ids(const Shape& shape, Index limit) {
    std::vector<std::int32_t>& values = ids_.emplace_back(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>((static_cast<Index>(i) * 37) % limit);
    }
    return {values.data(), shape};
  }

  template <class Body>
  void time(const std::string& name, const kernels::Cost& cost, Body body) {
    rates_[name] = cost.flops / time_busy(comm_, {.budget = budget_, .least = 3}, body);
  }

  void elementwise() {
    const Shape shape{64, 512};
    const Index count = element_count(shape);
    const View<T> a = array(shape), b = array(shape), c = array(shape), d = array(shape);
    const View<T> x = array(shape), y = array(shape), z = array(shape);
    const std::vector<View<const T>> terms{a, b};
    time("add", kernels::add_cost(2, count, kSize), [&] { kernels::add<T>(terms, x); });
    time("silu_mul", kernels::silu_mul_cost(count, kSize), [&] { kernels::silu_mul<T>(a, b, x); });
    time("silu_mul_grad", kernels::silu_mul_grad_cost(count, kSize), [&] { kernels::silu_mul_grad<T>(a, b, c, x, y); });
    time("gelu", kernels::gelu_cost(count, kSize), [&] { kernels::gelu<T>(a, x); });
    time("gelu_grad", kernels::gelu_grad_cost(count, kSize), [&] { kernels::gelu_grad<T>(a, b, x); });
    time("adamw", kernels::adamw_cost(count, kSize),
         [&] { kernels::adamw<T>({.weight_decay = 0.1, .clip_norm = 1}, a, b, c, d, 4, 1e-3, 10, x, y, z); });
    const View<T> one = array({});
    time("sum_squares", kernels::sum_squares_cost(count, kSize), [&] { kernels::sum_squares<T>(a, one); });
    const std::array<kernels::Operand<T>, 2> factors{{{a, {0, 1}}, {b, {0, 1}}}};
    const std::array<Index, 2> extents{shape[0], shape[1]};
    const std::array<kernels::Subscripts, 2> subscripts{{{0, 1}, {0, 1}}};
    time("einsum", kernels::einsum_cost(extents, subscripts, {0, 1}, kSize), [&] {
      kernels::einsum<T>(factors, x, {0, 1});
    });
  }

  void rows() {
    const Shape shape{128, 256};
    const View<T> x = array(shape), dy = array(shape), w = array({shape[1]}), dot = array({shape[0]});
    const View<T> ss = array({shape[0]}), y = array(shape), dw = array({shape[1]});
    const kernels::NormOptions options{shape[1], 1e-5};
    time("sum_squares_rows", kernels::sum_squares_rows_cost(shape, kSize),
         [&] { kernels::sum_squares_rows<T>(x, ss); });
    time("normalize", kernels::normalize_cost(shape, kSize), [&] { kernels::normalize<T>(x, ss, w, options, y); });
    time("norm_dot", kernels::norm_dot_cost(shape, kSize), [&] { kernels::norm_dot<T>(dy, w, x, ss); });
    kernels::sum_squares_rows<T>(x, ss);
    time("norm_grad", kernels::norm_grad_cost(shape, kSize),
         [&] { kernels::norm_grad<T>(dy, x, ss, w, dot, options, y, dw); });
  }

  void losses() {
    const Shape shape{128, 512};
    const View<T> logits = array(shape), dloss = array({});
    const View<const std::int32_t> labels = ids({shape[0]}, shape[1]);
    const View<T> max = array({shape[0]}), z = array({shape[0]}), picked = array({shape[0]}), loss = array({});
    const View<T> dlogits = array(shape);
    const Range vocabulary{0, shape[1]};
    time("row_max", kernels::row_max_cost(shape, kSize), [&] { kernels::row_max<T>(logits, max); });
    time("sum_exp", kernels::sum_exp_cost(shape, kSize), [&] { kernels::sum_exp<T>(logits, max, z); });
    time("negative_log_likelihood", kernels::negative_log_likelihood_cost(shape[0], kSize),
         [&] { kernels::negative_log_likelihood<T>(z, max, picked, 1.0, loss); });
    time("cross_entropy_grad", kernels::cross_entropy_grad_cost(shape, kSize),
         [&] { kernels::cross_entropy_grad<T>(logits, labels, max, z, dloss, vocabulary, 1.0, dlogits); });
  }

  void attention() {
    const Shape queries{2, 128, 2, 2, 64}, keys{2, 128, 2, 64}, heads{2, 128, 2, 2};
    const View<T> q = array(queries), k = array(keys), v = array(keys), d_o = array(queries);
    const View<T> o = array(queries), lse = array(heads), dq = array(queries), dk = array(keys), dv = array(keys);
    time("attention", kernels::attention_cost(queries, keys, {}, kSize),
         [&] { kernels::attention<T>(q, k, v, {}, o, lse); });
    time("attention_grad", kernels::attention_grad_cost(queries, keys, {}, kSize),
         [&] { kernels::attention_grad<T>(q, k, v, o, lse, d_o, {}, dq, dk, dv); });
    time("rope", kernels::rope_cost(element_count(queries), kSize), [&] {
      kernels::rope<T>(q, {.time_dim = 1, .positions = {0, queries[1]}}, o);
    });
  }

  void embedding() {
    const Shape table{256, 256}, tokens{2, 128}, rows{2, 128, 256};
    const View<T> d_out = array(rows);
    const View<T> d_table = array(table);
    const View<const std::int32_t> which = ids(tokens, table[0]);
    time("embed_grad", kernels::embed_grad_cost(element_count(tokens), table[0], table[1], kSize), [&] {
      kernels::embed_grad<T>(d_out, which, {0, table[0]}, d_table);
    });
  }

  const mpi::Communicator& comm_;
  Seconds budget_;
  std::deque<std::vector<T>> arrays_;
  std::deque<std::vector<std::int32_t>> ids_;
  std::map<std::string, FlopsPerSecond> rates_;
};

}  // namespace

template <class T>
std::map<std::string, FlopsPerSecond> probe_kernels(const mpi::Communicator& comm, Seconds budget) {
  return Bench<T>(comm, budget).run();
}

template std::map<std::string, FlopsPerSecond> probe_kernels<float>(const mpi::Communicator&, Seconds);
template std::map<std::string, FlopsPerSecond> probe_kernels<double>(const mpi::Communicator&, Seconds);

}  // namespace shardline::roofline
