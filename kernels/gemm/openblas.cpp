#include "kernels/gemm/openblas.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// While it lives, a BLAS that loads starts no threads, whatever the environment says.
class OneThread {
 public:
  OneThread() {
    if (const char* value = std::getenv(kName)) before_ = value;
    setenv(kName, "1", 1);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }

 private:
  static constexpr const char* kName = "OPENBLAS_NUM_THREADS";
  std::optional<std::string> before_;
};

/// First asks the loader for the name, as for a linked library. Then tries the path from build
/// time.
void* open_library() {
  const OneThread alone;
  std::string fault;
  for (const char* file : {SHARDLINE_BLAS_NAME, SHARDLINE_BLAS_FOLDER "/" SHARDLINE_BLAS_NAME}) {
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
    if (fault.empty()) fault = dlerror();
  }
  throw Error(fmt::format("the BLAS cannot be loaded: {}", fault));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) throw Error(fmt::format("the BLAS {} has no {}", SHARDLINE_BLAS_NAME, name));
}

Blas load() {
  void* library = open_library();
  Blas blas;
  find(library, "cblas_sgemm", blas.sgemm);
  find(library, "cblas_dgemm", blas.dgemm);
  find(library, "openblas_set_num_threads", blas.set_num_threads);
  find(library, "openblas_get_num_threads", blas.get_num_threads);
  find(library, "openblas_get_config", blas.get_config);
  find(library, "openblas_get_corename", blas.get_corename);
  return blas;
}

/// Throws Error if `count` threads cannot run at once. They all start, then end.
void try_threads(int count) {
  std::promise<void> all_started;
  const std::shared_future<void> end = all_started.get_future().share();
  std::vector<std::thread> threads;
  std::string fault;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([end] { end.wait(); });
  } catch (const std::system_error& error) {
    fault = error.what();
  }
  all_started.set_value();
  for (std::thread& thread : threads) thread.join();
  if (!fault.empty()) {
    throw Error(fmt::format(
        "{} threads of the BLAS cannot be started beside the first: {} (limits: ulimit -u for threads, -v for memory)",
        count, fault));
  }
}

/// Throws Error if there is no room for `threads` threads. OpenBLAS itself would retry for ever.
void check_room(int threads) {
  constexpr std::size_t kOfThread = std::size_t{128} << 20;  // memory in which OpenBLAS packs the blocks of a thread
  const std::size_t bytes = static_cast<std::size_t>(threads) * kOfThread;
  // Writable, so a limit on data counts it too. Nothing touches it.
  constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kKind, -1, 0);
  if (room == MAP_FAILED) {
    throw Error(
        fmt::format("the BLAS needs {} MiB of address space for {} thread{}, more than the limit of this process "
                    "leaves (ulimit -v, ulimit -d)",
                    bytes >> 20, threads, threads == 1 ? "" : "s"));
  }
  try {
    try_threads(threads - 1);
  } catch (...) {
    munmap(room, bytes);
    throw;
  }
  munmap(room, bytes);
}

/// The BLAS has its working memory. Each process starts it from one thread.
bool has_memory = false;

/// A product large enough that the BLAS allocates its memory and keeps it.
void take_memory() {
  constexpr int kSize = 128;
  const std::vector<float> ones(kSize * kSize, 1.0F);
  std::vector<float> product(ones.size());
  blas().sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1, ones.data(), kSize, ones.data(),
               kSize, 0, product.data(), kSize);
}

}  // namespace

const Blas& blas() {
  static const Blas loaded = load();
  return loaded;
}

void start_blas_threads(int threads) {
  SHARDLINE_CHECK(threads >= 1, "BLAS threads: {} given, at least 1 needed", threads);
  const Blas& loaded = blas();
  check_room(threads);
  loaded.set_num_threads(threads);
  take_memory();
  has_memory = true;
}

const Blas& blas_for_products() {
  if (!has_memory) start_blas_threads(blas().get_num_threads());
  return blas();
}

}  // namespace shardline::kernels
