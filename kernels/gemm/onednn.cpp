#include "kernels/gemm/onednn.h"

#include <dlfcn.h>

#include <csignal>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <vector>

#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

using dnnl::memory;

/// What a product is made for. Products of one key share their code.
struct ProductKey {
  GemmShape shape;
  memory::data_type operands, result;
  bool accumulate, blocked;

  auto tied() const {
    return std::tie(shape.a, shape.b, shape.m, shape.n, shape.k, shape.lda, shape.ldb, shape.ldc, operands, result,
                    accumulate, blocked);
  }
  bool operator<(const ProductKey& other) const { return tied() < other.tied(); }
};

/// A product whose code is made, and how its matrices lie.
struct Product {
  memory::desc a, b, c;
  memory::desc weights;  ///< B as the product reads it
  dnnl::matmul code;
};

using SetThreads = void (*)(int);

/// omp_set_num_threads() of the OpenMP library under oneDNN; null if oneDNN was built with other threads.
SetThreads set_threads_function() {
  static const auto function = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  return function;
}

void set_openmp_threads(int threads) {
  if (const SetThreads set = set_threads_function()) set(threads);
}

/// Holds all signals of the calling thread back while it lives, and so those of threads that start meanwhile. A handler
/// must not run on a thread of oneDNN: its code may use the register of the stack for other things, so that the handler
/// would destroy memory. With one thread there is nothing to do, as handlers of that one have a stack of their own
/// (see Interruption).
class NoSignals {
 public:
  explicit NoSignals(int threads) : holds_(threads > 1) {
    if (!holds_) return;
    sigset_t all;
    sigfillset(&all);
    SHARDLINE_CHECK(pthread_sigmask(SIG_SETMASK, &all, &before_) == 0, "the mask of signals cannot be set");
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() {
    if (holds_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  bool holds_;
  sigset_t before_{};
};

/// The one processor, and the products made so far. It starts with one thread: OpenMP itself would start one for each
/// core, and those of several ranks on a node would wait for each other by spinning.
struct OneDnn {
  OneDnn() { set_openmp_threads(1); }

  int threads = 1;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<ProductKey, Product> products;
};

OneDnn& onednn() {
  static OneDnn state;
  return state;
}

/// A matrix [rows, columns] as it is used. It is stored so, or transposed; the stored rows are `leading` apart.
memory::desc matrix(Index rows, Index columns, memory::data_type type, Transpose transpose, Index leading) {
  const bool turned = transpose == Transpose::yes;
  return {{rows, columns}, type, memory::dims{turned ? 1 : leading, turned ? leading : 1}};
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const memory::desc& a, const memory::desc& b,
                                      const memory::desc& c, const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, attributes};
#else
  return {{a, b, c}, attributes, engine};
#endif
}

Product make_product(const ProductKey& key) {
  const GemmShape& s = key.shape;
  const memory::desc a = matrix(s.m, s.k, key.operands, s.a, s.lda);
  const memory::desc b = matrix(s.k, s.n, key.operands, s.b, s.ldb);
  const memory::desc c = matrix(s.m, s.n, key.result, Transpose::no, s.ldc);
  dnnl::primitive_attr attributes;
  if (key.accumulate) {
    dnnl::post_ops after;
    after.append_sum(1);
    attributes.set_post_ops(after);
  }
  const memory::desc any({s.k, s.n}, key.operands, memory::format_tag::any);
  const auto made = describe(onednn().engine, a, key.blocked ? any : b, c, attributes);
  return {a, b, c, made.weights_desc(), dnnl::matmul(made)};
}

const Product& product_of(const ProductKey& key) {
  constexpr std::size_t kMost = 1024;  // programs have fewer; a caller with ever new shapes does not fill the memory
  std::map<ProductKey, Product>& products = onednn().products;
  if (const auto found = products.find(key); found != products.end()) return found->second;
  if (products.size() >= kMost) products.clear();
  return products.emplace(key, make_product(key)).first->second;
}

memory place(const memory::desc& desc, const void* data) {
  return {desc, onednn().engine, const_cast<void*>(data)};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

bool has_instructions(dnnl::cpu_isa wanted) {
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & static_cast<int>(wanted)) == static_cast<int>(wanted);
}

template <class T>
constexpr memory::data_type kType = memory::data_type::f32;
template <>
constexpr memory::data_type kType<BFloat16> = memory::data_type::bf16;

/// A matrix in a form of oneDNN, and which matrix it is.
struct Form {
  const void* data;
  memory::desc plain;
  memory blocked;
};

}  // namespace

struct KeptOperands::Forms {
  std::vector<Form> all;  ///< few: one for each position of a batch
};

KeptOperands::KeptOperands() : forms_(std::make_unique<Forms>()) {}
KeptOperands::~KeptOperands() = default;

namespace {

/// B in the form that the product reads.
memory form_of(std::vector<Form>& forms, const Product& product, const void* b) {
  for (const Form& form : forms) {
    if (form.data == b && form.plain == product.b && form.blocked.get_desc() == product.weights) return form.blocked;
  }
  memory plain = place(product.b, b);
  memory blocked(product.weights, onednn().engine);
  const NoSignals guard(onednn().threads);
  dnnl::reorder(plain, blocked).execute(onednn().stream, plain, blocked);
  onednn().stream.wait();
  forms.push_back({b, product.b, blocked});
  return blocked;
}

}  // namespace

bool onednn_suits(DType dtype) {
  if (set_threads_function() == nullptr) return false;
  if (dtype == DType::f32) return has_instructions(dnnl::cpu_isa::avx512_core);
  return dtype == DType::bf16 && has_instructions(dnnl::cpu_isa::avx512_core_bf16);
}

std::string onednn_description() {
  const char* instructions = has_instructions(dnnl::cpu_isa::avx512_core_amx)    ? "AMX"
                             : has_instructions(dnnl::cpu_isa::avx512_core_bf16) ? "AVX512_BF16"
                             : has_instructions(dnnl::cpu_isa::avx512_core)      ? "AVX-512"
                             : has_instructions(dnnl::cpu_isa::avx2)             ? "AVX2"
                                                                                 : "SSE or AVX";
  const dnnl_version_t& version = *dnnl::version();
  return fmt::format("oneDNN {}.{}, {}", version.major, version.minor, instructions);
}

void set_onednn_threads(int threads) {
  onednn().threads = threads;  // after its start, which sets one thread
  set_openmp_threads(threads);
}

template <class S, class T>
void multiply_by_onednn(const GemmShape& shape, const S* a, const S* b, bool accumulate, T* c, KeptOperands* kept) {
  try {
    const Product& product = product_of({shape, kType<S>, kType<T>, accumulate, kept != nullptr});
    const memory weights = kept == nullptr ? place(product.b, b) : form_of(kept->forms().all, product, b);
    const NoSignals guard(onednn().threads);
    product.code.execute(
        onednn().stream,
        {{DNNL_ARG_SRC, place(product.a, a)}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, place(product.c, c)}});
    onednn().stream.wait();
  } catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN makes no product [{}, {}] times [{}, {}]: {}", shape.m, shape.k, shape.k, shape.n,
                            error.what()));
  }
}

void sgemm_by_onednn(const GemmShape& shape, const float* a, const float* b, bool accumulate, float* c) {
  const NoSignals guard(onednn().threads);
  const auto letter = [](Transpose transpose) { return transpose == Transpose::yes ? 'T' : 'N'; };
  const auto status = dnnl::sgemm(letter(shape.a), letter(shape.b), shape.m, shape.n, shape.k, 1, a, shape.lda, b,
                                  shape.ldb, accumulate ? 1.0F : 0.0F, c, shape.ldc);
  SHARDLINE_CHECK(status == dnnl::status::success, "oneDNN makes no product [{}, {}] times [{}, {}]: status {}",
                  shape.m, shape.k, shape.k, shape.n, static_cast<int>(status));
}

template void multiply_by_onednn(const GemmShape&, const float*, const float*, bool, float*, KeptOperands*);
template void multiply_by_onednn(const GemmShape&, const BFloat16*, const BFloat16*, bool, float*, KeptOperands*);
template void multiply_by_onednn(const GemmShape&, const BFloat16*, const BFloat16*, bool, BFloat16*, KeptOperands*);

}  // namespace shardline::kernels
