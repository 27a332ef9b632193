#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::peers {

/// A BLACS grid of `rows` x `columns` processes over all ranks of the job, row-major.
class ProcessGrid {
 public:
  /// Collective over all ranks, which must be rows x columns.
  ProcessGrid(int rows, int columns);
  /// Collective over all ranks.
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  int context() const { return context_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int row() const { return row_; }
  int column() const { return column_; }

 private:
  int rows_;
  int columns_;
  int context_ = 0;
  int row_ = 0;
  int column_ = 0;
};

/// A matrix of f32 on a grid in ScaLAPACK's layout: square blocks, dealt in turn to the rows and
/// columns of the grid. Each rank's part is column-major.
class BlockCyclicMatrix {
 public:
  /// `grid` must outlive the matrix.
  BlockCyclicMatrix(const ProcessGrid& grid, Index rows, Index columns, Index block);

  /// Calls visit(i, j, element) for every element of this rank. i and j index the whole matrix.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Index column = 0; column < local_columns_; ++column) {
      for (Index row = 0; row < local_rows_; ++row) {
        visit(global(row, grid_->row(), grid_->rows()), global(column, grid_->column(), grid_->columns()),
              elements_[static_cast<std::size_t>(column * leading_ + row)]);
      }
    }
  }

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  float* elements() { return elements_.data(); }
  int* descriptor() { return descriptor_.data(); }

 private:
  Index global(Index local, int process, int processes) const {
    return (local / block_ * processes + process) * block_ + local % block_;
  }

  const ProcessGrid* grid_;
  Index rows_;
  Index columns_;
  Index block_;
  Index local_rows_;
  Index local_columns_;
  Index leading_;  ///< elements from one column to the next
  std::array<int, 9> descriptor_{};
  std::vector<float> elements_;
};

/// C = A B by psgemm. Collective over the grid on which all three lie.
void multiply(BlockCyclicMatrix& a, BlockCyclicMatrix& b, BlockCyclicMatrix& c);

/// The file of the BLAS that psgemm uses in this process.
std::string blas_of_scalapack();

}  // namespace shardline::peers
