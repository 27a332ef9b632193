#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/run/measure.h"
#include "program/run/multiply.h"
#include "tools/report/svg.h"

namespace shardline::tools {

/// An operation, or all of one kind and axis, in the figures and the table of a page. Quantities
/// are sums over all its calls.
struct OperationRow {
  std::size_t number = 0;  ///< by time, 1 is the slowest; the same in every figure of a page
  std::string name;        ///< "einsum", "all_gather over X", or a line of the program
  std::string short_name;  ///< kind and axis
  bool product = false;
  int count = 1;
  Bytes bytes;
  Bytes wire_bytes;
  Flops flops;
  Seconds predicted;
  std::optional<Seconds> measured;  ///< none for a plan
  Seconds exposed;
  std::string limiter;

  bool communicates() const { return wire_bytes.value > 0; }
  /// The measured time, else the predicted time.
  Seconds time() const { return measured.value_or(predicted); }
};

/// In the order of the summaries, with numbers.
std::vector<OperationRow> rows_of(const std::vector<KindSummary>& kinds);
/// In the order of the program, with numbers.
std::vector<OperationRow> rows_of(const std::vector<TimedStep>& steps);

/// Numbers the rows.
void number_by_time(std::vector<OperationRow>& rows);
/// The same rows, number 1 first.
std::vector<OperationRow> by_number(std::vector<OperationRow> rows);

/// True if operations of this kind are matrix products.
bool is_product(const std::string& kind);

/// The ink of products, other computations or communication.
const Ink& ink_of(const OperationRow& row);

/// The tooltip of a row in a figure: name, calls, FLOPs, bytes, times and ratio.
std::string description(const OperationRow& row);

/// "predicted 2.00 ms", "measured 2.10 ms, predicted 2.00 ms, ratio 1.05"
std::string times_text(Seconds predicted, const std::optional<Seconds>& measured);

}  // namespace shardline::tools
