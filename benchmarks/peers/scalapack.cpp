#include "benchmarks/peers/scalapack.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/check.h"

// The library has no header. A matrix is passed with a position in it, counted from 1, and a
// descriptor.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* process, const int* source, const int* processes);
void descinit_(int* descriptor, const int* rows, const int* columns, const int* row_block, const int* column_block,
               const int* source_row, const int* source_column, const int* context, const int* leading, int* info);
void psgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n, const int* k,
             const float* alpha, const float* a, const int* ia, const int* ja, const int* descriptor_a, const float* b,
             const int* ib, const int* jb, const int* descriptor_b, const float* beta, float* c, const int* ic,
             const int* jc, const int* descriptor_c);
}
// NOLINTEND(readability-identifier-naming)

namespace shardline::peers {
namespace {

/// The part of `process` in a dim of `n` whose blocks are dealt to `processes`.
Index extent(Index n, Index block, int process, int processes) {
  const int n_int = static_cast<int>(n);
  const int block_int = static_cast<int>(block);
  const int source = 0;
  return numroc_(&n_int, &block_int, &process, &source, &processes);
}

}  // namespace

ProcessGrid::ProcessGrid(int rows, int columns) : rows_(rows), columns_(columns) {
  Cblacs_get(0, 0, &context_);
  Cblacs_gridinit(&context_, "Row", rows, columns);
  Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
  SHARDLINE_CHECK(rows_ == rows && columns_ == columns && row_ >= 0, "BLACS made no grid of {}x{}", rows, columns);
}

ProcessGrid::~ProcessGrid() { Cblacs_gridexit(context_); }

BlockCyclicMatrix::BlockCyclicMatrix(const ProcessGrid& grid, Index rows, Index columns, Index block)
    : grid_(&grid),
      rows_(rows),
      columns_(columns),
      block_(block),
      local_rows_(extent(rows, block, grid.row(), grid.rows())),
      local_columns_(extent(columns, block, grid.column(), grid.columns())),
      leading_(std::max<Index>(local_rows_, 1)),
      elements_(static_cast<std::size_t>(leading_ * local_columns_)) {
  const auto [m, n, size, leading] = std::array{static_cast<int>(rows), static_cast<int>(columns),
                                                static_cast<int>(block), static_cast<int>(leading_)};
  const int source = 0;
  const int context = grid.context();
  int info = 0;
  descinit_(descriptor_.data(), &m, &n, &size, &size, &source, &source, &context, &leading, &info);
  SHARDLINE_CHECK(info == 0, "descinit refuses its argument {} for {}x{} in blocks of {}", -info, rows, columns, block);
}

void multiply(BlockCyclicMatrix& a, BlockCyclicMatrix& b, BlockCyclicMatrix& c) {
  const auto [m, n, k] =
      std::array{static_cast<int>(c.rows()), static_cast<int>(c.columns()), static_cast<int>(a.columns())};
  const float alpha = 1;
  const float beta = 0;
  const int first = 1;
  psgemm_("N", "N", &m, &n, &k, &alpha, a.elements(), &first, &first, a.descriptor(), b.elements(), &first, &first,
          b.descriptor(), &beta, c.elements(), &first, &first, c.descriptor());
}

std::string blas_of_scalapack() {
  Dl_info info{};
  void* const sgemm = dlsym(RTLD_DEFAULT, "sgemm_");
  SHARDLINE_CHECK(sgemm != nullptr && dladdr(sgemm, &info) != 0, "no library of this process has sgemm_");
  return std::filesystem::path(info.dli_fname).filename().string();
}

}  // namespace shardline::peers
