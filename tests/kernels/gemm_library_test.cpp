#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "kernels/einsum/einsum.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/onednn.h"
#include "runtime/base/check.h"
#include "runtime/host/interrupt.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::random_array;

/// A library while it lives; then the one before.
class UsedLibrary {
 public:
  UsedLibrary(DType dtype, GemmLibrary library) : dtype_(dtype), before_(gemm_library(dtype)) {
    set_gemm_library(dtype, library);
  }
  UsedLibrary(const UsedLibrary&) = delete;
  UsedLibrary& operator=(const UsedLibrary&) = delete;
  ~UsedLibrary() { set_gemm_library(dtype_, before_); }

 private:
  DType dtype_;
  GemmLibrary before_;
};

/// The libraries that this processor can use for a type. f32 by oneDNN works everywhere.
std::vector<GemmLibrary> libraries_for(DType dtype) {
  if (dtype == DType::f32 || onednn_suits(dtype)) return {GemmLibrary::openblas, GemmLibrary::onednn};
  return {GemmLibrary::openblas};
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
std::vector<T> made(std::string_view name, Index count) {
  std::vector<T> values;
  for (const double value : random_array<double>(name, {count}).values) values.push_back(T(static_cast<float>(value)));
  return values;
}

/// An element of op(A) op(B) in f64.
template <class S>
double exact_element(const GemmShape& s, const std::vector<S>& a, const std::vector<S>& b, Index i, Index j) {
  double sum = 0;
  for (Index l = 0; l < s.k; ++l) {
    const Index of_a = s.a == Transpose::yes ? l * s.lda + i : i * s.lda + l;
    const Index of_b = s.b == Transpose::yes ? j * s.ldb + l : l * s.ldb + j;
    sum += to_double(a[static_cast<std::size_t>(of_a)]) * to_double(b[static_cast<std::size_t>(of_b)]);
  }
  return sum;
}

/// How a test asks for a product.
struct Form {
  bool accumulate = false, shares_a = false, keeps_b = false;
};

constexpr Form kForms[] = {
    {}, {.accumulate = true}, {.shares_a = true}, {.keeps_b = true}, {.accumulate = true, .keeps_b = true}};

/// The matrices of a product, and its results in f64 without and with the old C.
template <class S, class T>
struct Product {
  explicit Product(const GemmShape& s)
      : shape(s),
        a(made<S>("a", (s.a == Transpose::yes ? s.k : s.m) * s.lda)),
        b(made<S>("b", (s.b == Transpose::yes ? s.n : s.k) * s.ldb)),
        before(made<T>("c", s.m * s.ldc)) {
    for (Index i = 0; i < s.m; ++i) {
      for (Index j = 0; j < s.n; ++j) exact.push_back(exact_element(s, a, b, i, j));
    }
  }

  /// A result in bf16 may be off by its own rounding, half of 2^-7 of it, and by the noise of sums in f32.
  void check(const Form& form) const {
    std::vector<T> c;
    KeptOperands kept;
    const GemmOptions options{form.accumulate, form.shares_a, form.keeps_b ? &kept : nullptr};
    for (int time = 0; time < 2; ++time) {  // the second product reads what the first has kept
      c = before;
      gemm<S, T>(shape, a.data(), b.data(), c.data(), options);
    }
    const double rounding = std::is_same_v<T, BFloat16> ? 0x1p-8 : 0, noise = 1e-5 * static_cast<double>(shape.k);
    for (Index i = 0; i < shape.m; ++i) {
      for (Index j = 0; j < shape.ldc; ++j) {
        const auto at = static_cast<std::size_t>(i * shape.ldc + j);
        const double old = to_double(before[at]);
        if (j >= shape.n) {
          ASSERT_EQ(to_double(c[at]), old) << "an element beside the result was written";
          continue;
        }
        const double sum = exact[static_cast<std::size_t>(i * shape.n + j)] + (form.accumulate ? old : 0);
        ASSERT_NEAR(to_double(c[at]), sum, rounding * std::abs(sum) + noise) << i << " " << j;
      }
    }
  }

  GemmShape shape;
  std::vector<S> a, b;
  std::vector<T> before;
  std::vector<double> exact;
};

template <class S, class T>
void check_shapes(DType dtype) {
  for (const Shape& mnk : {Shape{1, 3, 2}, {1, 700, 400}, {70, 80, 61}, {97, 65, 83}, {500, 1, 600}}) {
    for (const Transpose a : {Transpose::no, Transpose::yes}) {
      for (const Transpose b : {Transpose::no, Transpose::yes}) {
        const Index m = mnk[0], n = mnk[1], k = mnk[2];
        const Product<S, T> product(
            {a, b, m, n, k, (a == Transpose::yes ? m : k) + 3, (b == Transpose::yes ? k : n) + 2, n + 1});
        for (const GemmLibrary library : libraries_for(dtype)) {
          const UsedLibrary used(dtype, library);
          for (const Form& form : kForms) {
            SCOPED_TRACE(std::string(name_of(library)) + " " + to_string(mnk));
            product.check(form);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(GemmLibraryTest, EveryLibraryMultipliesF32) { check_shapes<float, float>(DType::f32); }
TEST(GemmLibraryTest, EveryLibraryMultipliesBf16IntoF32) { check_shapes<BFloat16, float>(DType::bf16); }
TEST(GemmLibraryTest, EveryLibraryMultipliesBf16IntoBf16) { check_shapes<BFloat16, BFloat16>(DType::bf16); }

TEST(GemmLibraryTest, KeptOperandsAreToldApart) {
  for (const GemmLibrary library : libraries_for(DType::f32)) {
    const UsedLibrary used(DType::f32, library);
    KeptOperands kept;
    constexpr Index kSize = 80;
    const auto a = random_array<float>("a", {kSize, kSize});
    const auto b = random_array<float>("b", {2 * kSize, kSize});
    const GemmShape shape{.m = kSize, .n = kSize, .k = kSize, .lda = kSize, .ldb = kSize, .ldc = kSize};
    for (const Index half : {0, 1, 0}) {
      for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
        GemmShape turned = shape;
        turned.b = transpose;
        const float* operand = b.view().data + half * kSize * kSize;
        Array<float> fresh({kSize, kSize}), again({kSize, kSize});
        gemm<float>(turned, a.view().data, operand, fresh.view().data);
        gemm<float>(turned, a.view().data, operand, again.view().data, {.kept = &kept});
        testing::expect_close(again, fresh);
      }
    }
  }
}

/// Windows of any index give the whole product, also when they share an operand and are of different sizes.
TEST(GemmLibraryTest, WindowsShareTheirOperand) {
  constexpr Index kM = 150, kN = 90, kK = 110;
  Array<double> whole({kM, kN});
  const auto x = random_array<double>("x", {kM, kK}), y = random_array<double>("y", {kK, kN});
  const auto narrow = [](const Array<double>& from) {
    Array<float> to(from.shape);
    std::transform(from.values.begin(), from.values.end(), to.values.begin(),
                   [](double v) { return static_cast<float>(v); });
    return to;
  };
  const std::vector<EinsumOperand<double>> exact{{x.view(), {0, 2}}, {y.view(), {2, 1}}};
  einsum<double>(exact, whole.view(), {0, 1});
  const Array<float> a = narrow(x), b = narrow(y);
  const std::vector<EinsumOperand<float>> operands{{a.view(), {0, 2}}, {b.view(), {2, 1}}};
  for (const GemmLibrary library : libraries_for(DType::f32)) {
    const UsedLibrary used(DType::f32, library);
    for (const auto& [index, extent] : {std::pair<int, Index>{0, kM}, {1, kN}, {2, kK}}) {
      SCOPED_TRACE(std::string(name_of(library)) + ", windows on index " + std::to_string(index));
      auto out = testing::unwritten<float>({kM, kN});
      KeptOperands kept;
      for (Index begin = 0, rows = 64; begin < extent; begin += rows, rows = 40) {
        const Range range{begin, std::min(begin + rows, extent)};
        einsum<float>(operands, out.view(), {0, 1}, Window{index, range, index == 2 && begin > 0}, &kept);
      }
      testing::expect_close(out, whole, 1e-5);
    }
  }
}

TEST(GemmLibraryTest, NamesAndLimits) {
  EXPECT_EQ(name_of(GemmLibrary::openblas), "openblas");
  EXPECT_EQ(name_of(GemmLibrary::onednn), "onednn");
  EXPECT_EQ(gemm_library(DType::f64), GemmLibrary::openblas);
  EXPECT_THROW(set_gemm_library(DType::f64, GemmLibrary::onednn), Error);
  EXPECT_EQ(suitable_library(DType::bf16) == GemmLibrary::onednn, onednn_suits(DType::bf16));
  if (!onednn_suits(DType::bf16)) {
    EXPECT_THROW(set_gemm_library(DType::bf16, GemmLibrary::onednn), Error);
  }
}

/// The oracle is OpenMP itself, which would give a thread to each core. CTest runs this test in a process of its own,
/// so nothing has set the threads before.
TEST(GemmLibraryTest, OneDnnHasOneThreadUntilMoreAreSet) {
  const auto threads = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  if (threads == nullptr) GTEST_SKIP() << "oneDNN has no OpenMP here";
  const float a[4] = {1, 2, 3, 4};
  float c[4] = {};
  multiply_by_onednn<float, float>({.m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2}, a, a, false, c);
  EXPECT_EQ(c[3], 22);
  EXPECT_EQ(threads(), 1);
  set_blas_threads(2);
  EXPECT_EQ(threads(), 2);
  set_blas_threads(1);
}

/// Sends SIGUSR1 to this process all the time while it lives.
class SignalStorm {
 public:
  SignalStorm() : thread_([this] { send(); }) {}
  SignalStorm(const SignalStorm&) = delete;
  SignalStorm& operator=(const SignalStorm&) = delete;
  ~SignalStorm() {
    ends_ = true;
    thread_.join();
  }

 private:
  void send() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // the signals are for the threads that multiply
    while (!ends_) {
      kill(getpid(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  std::atomic<bool> ends_{false};
  std::thread thread_;
};

/// Products by each library, with one thread and more, while signals come: they have the bits of those before.
template <class S>
void multiply_in_a_storm(DType dtype) {
  const GemmShape shape{.m = 96, .n = 256, .k = 128, .lda = 128, .ldb = 256, .ldc = 256};
  const std::vector<S> a = made<S>("a", 96 * 128), b = made<S>("b", 128 * 256);
  for (const GemmLibrary library : libraries_for(dtype)) {
    const UsedLibrary used(dtype, library);
    for (const int threads : {1, 4, 2, 4}) {  // OpenMP ends threads and starts others
      set_blas_threads(threads);
      for (const bool shares_a : {false, true}) {
        std::vector<S> want(96 * 256), got(96 * 256);
        gemm<S, S>(shape, a.data(), b.data(), want.data(), {.shares_a = shares_a});
        const Interruption interruption;
        const SignalStorm storm;
        for (int i = 0; i < 400; ++i) {
          gemm<S, S>(shape, a.data(), b.data(), got.data(), {.shares_a = shares_a});
          ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(S)), 0) << name_of(library) << i;
        }
        EXPECT_TRUE(Interruption::save_asked());
      }
    }
  }
  set_blas_threads(1);
}

/// The heap is in order if the test comes to its end.
TEST(GemmLibraryTest, SignalsDuringProductsDestroyNothing) {
  multiply_in_a_storm<float>(DType::f32);
  multiply_in_a_storm<BFloat16>(DType::bf16);
}

}  // namespace
}  // namespace shardline::kernels
