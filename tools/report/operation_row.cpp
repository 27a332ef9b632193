#include "tools/report/operation_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace shardline::tools {
namespace {

std::string kind_text(const std::string& kind, const std::string& axis) {
  return axis.empty() ? kind : fmt::format("{} over {}", kind, axis);
}

}  // namespace

std::vector<OperationRow> rows_of(const std::vector<KindSummary>& kinds) {
  std::vector<OperationRow> rows;
  for (const KindSummary& kind : kinds) {
    OperationRow row;
    row.name = kind_text(kind.kind, kind.axis);
    row.short_name = row.name;
    row.product = is_product(kind.kind);
    row.count = kind.count;
    row.bytes = kind.bytes;
    row.wire_bytes = kind.wire_bytes;
    row.flops = kind.flops;
    row.predicted = kind.predicted;
    row.measured = kind.measured;
    row.exposed = kind.exposed;
    row.limiter = kind.limiter;
    rows.push_back(std::move(row));
  }
  number_by_time(rows);
  return rows;
}

std::vector<OperationRow> rows_of(const std::vector<TimedStep>& steps) {
  std::vector<OperationRow> rows;
  for (const auto& [label, measured] : steps) {
    OperationRow row;
    row.name = label.name;
    row.short_name = kind_text(label.kind, to_string(label.axes));
    row.product = is_product(label.kind);
    row.count = measured.count;
    row.bytes = label.bytes * measured.count;
    row.wire_bytes = label.wire_bytes * measured.count;
    row.flops = label.flops * measured.count;
    row.predicted = label.predicted * measured.count;
    row.measured = measured.total;
    row.exposed = measured.exposed;
    row.limiter = label.limiter;
    rows.push_back(std::move(row));
  }
  number_by_time(rows);
  return rows;
}

void number_by_time(std::vector<OperationRow>& rows) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].time() > rows[b].time(); });
  for (std::size_t i = 0; i < order.size(); ++i) rows[order[i]].number = i + 1;
}

std::vector<OperationRow> by_number(std::vector<OperationRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const OperationRow& a, const OperationRow& b) { return a.number < b.number; });
  return rows;
}

bool is_product(const std::string& kind) {
  return kind == "einsum" || kind.starts_with("expert_product") || kind == "expert_weight_grad";
}

const Ink& ink_of(const OperationRow& row) { return category_ink(row.communicates() ? 1 : row.product ? 0 : 2); }

std::string description(const OperationRow& row) {
  std::string text = row.name;
  if (row.count != 1) text += fmt::format(", {} calls", row.count);
  text += fmt::format(": {}, {}", to_string(row.flops), to_string(row.bytes));
  if (row.communicates()) text += fmt::format(", {} on the wire", to_string(row.wire_bytes));
  return text + ", " + times_text(row.predicted, row.measured);
}

std::string times_text(Seconds predicted, const std::optional<Seconds>& measured) {
  std::string text = "predicted " + to_string(predicted);
  if (!measured) return text;
  const std::string ratio = predicted.value > 0 ? fmt::format(", ratio {:.2f}", *measured / predicted) : "";
  return fmt::format("measured {}, {}{}", to_string(*measured), text, ratio);
}

}  // namespace shardline::tools
