// The arithmetic and the output of `shardline bench`, on rows written by hand.

#include "tools/bench/bench_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "runtime/base/check.h"
#include "runtime/base/statistics.h"
#include "tools/bench/caches.h"

namespace shardline::tools {
namespace {

using collectives::Algorithm;
using collectives::Kind;

TEST(Bandwidth, IsThatOfNcclTests) {
  // 1 GB in 10 ms is 100 GB/s. The factors come from nccl-tests' doc/PERFORMANCE.md.
  const auto bus = [](Kind kind, Index ranks) { return bandwidths(kind, ranks, Bytes(1e9), Seconds(0.01)).bus.value; };
  EXPECT_DOUBLE_EQ(bandwidths(Kind::all_reduce, 4, Bytes(1e9), Seconds(0.01)).algorithm.value, 100e9);
  EXPECT_DOUBLE_EQ(bus(Kind::all_reduce, 4), 150e9);
  EXPECT_DOUBLE_EQ(bus(Kind::all_reduce, 2), 100e9);
  EXPECT_DOUBLE_EQ(bus(Kind::all_gather, 4), 75e9);
  EXPECT_DOUBLE_EQ(bus(Kind::reduce_scatter, 5), 80e9);
  EXPECT_DOUBLE_EQ(bus(Kind::all_to_all, 8), 87.5e9);
  EXPECT_DOUBLE_EQ(bus(Kind::shift, 8), 100e9);
  EXPECT_THROW(bus_factor(Kind::all_gather, 1), Error);
}

TEST(Statistics, MedianAndQuantile) {
  EXPECT_EQ(median(std::vector<double>{5, 1, 3}), 3);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_THROW(median(std::vector<double>{}), Error);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  EXPECT_EQ(quantile(hundred, 0.99), 99);
  EXPECT_EQ(quantile(hundred, 1), 100);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.99), 7);
  EXPECT_EQ(quantile(std::vector<double>{1, 2, 3, 4, 5}, 0.99), 5);
  const RowTimes times = summarise({.runs = 40, .samples = {Seconds(3), Seconds(1), Seconds(2), Seconds(9)}});
  EXPECT_EQ(times.runs, 40);
  EXPECT_EQ(times.samples, 4);
  EXPECT_EQ(times.min, Seconds(1));
  EXPECT_EQ(times.median, Seconds(2.5));
  EXPECT_EQ(times.p99, Seconds(9));
  EXPECT_EQ(times.max, Seconds(9));
}

TEST(Caches, TheLastLevelCounts) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "caches";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(last_level_cache(folder.string()), Bytes(67108864));
  const auto add = [&](int index, const char* level, const char* size) {
    const std::filesystem::path cache = folder / fmt::format("index{}", index);
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << "\n";
    std::ofstream(cache / "size") << size << "\n";
  };
  add(0, "1", "32K");
  add(1, "3", "16M");
  add(2, "2", "512K");
  EXPECT_EQ(last_level_cache(folder.string()), Bytes(16777216));
  std::filesystem::remove_all(folder);
}

BenchRow row(Algorithm algorithm, Index count, double seconds) {
  BenchRow result;
  result.kind = Kind::all_reduce;
  result.algorithm = algorithm;
  result.carried_by = algorithm;
  result.count = count;
  result.bytes = Bytes(4.0 * static_cast<double>(count));
  result.times = summarise({.runs = 10, .samples = {Seconds(seconds)}});
  result.copy = Seconds(5e-6);
  result.algorithm_bandwidth = result.bytes / Seconds(seconds);
  result.bus_bandwidth = bandwidths(result.kind, 4, result.bytes, Seconds(seconds)).bus;
  return result;
}

class BenchReport : public testing::Test {
 protected:
  BenchReport() {
    plan_.axes = {"X"};
    plan_.ranks = 4;
    rows_ = {row(Algorithm::ring, 256, 1e-5), row(Algorithm::native, 256, 2e-5), row(Algorithm::ring, 1024, 1e-5),
             row(Algorithm::native, 1024, 4e-5)};
    rows_[0].wire_bytes = 1536;
    rows_[0].times_native = 2;
    rows_[0].memory = "arena";
    rows_[2].times_native = 4;
  }

  BenchPlan plan_;
  std::vector<BenchRow> rows_;
  const AbstractMesh mesh_{{{"X", 4}}};
};

TEST_F(BenchReport, RecordHasNumbersInUnitsOfSi) {
  Json json;
  add_keys(json, plan_, rows_);
  const Json& first = json["rows"][0];
  EXPECT_EQ(first["collective"], "all_reduce");
  EXPECT_EQ(first["algorithm"], "ring");
  EXPECT_EQ(first["axis"], "X");
  EXPECT_EQ(first["ranks"], 4);
  EXPECT_EQ(first["bytes"], 1024);
  EXPECT_EQ(first["count"], 256);
  EXPECT_EQ(first["wire_bytes"], 1536);
  EXPECT_DOUBLE_EQ(first["time_s"]["median"].get<double>(), 1e-5);
  EXPECT_DOUBLE_EQ(first["algbw"].get<double>(), 1.024e8);
  EXPECT_DOUBLE_EQ(first["busbw"].get<double>(), 1.536e8);
  EXPECT_TRUE(json["rows"][1]["wire_bytes"].is_null());
  EXPECT_TRUE(json["rows"][1]["predicted_s"].is_null());
  EXPECT_EQ(first["memory"], "arena");
  EXPECT_EQ(first["runs"], 10);
  EXPECT_EQ(first["samples"], 1);
  EXPECT_DOUBLE_EQ(first["copy_s"].get<double>(), 5e-6);
  EXPECT_DOUBLE_EQ(json["summary"][0]["best_bandwidth"].get<double>(), 6.144e8);
  EXPECT_EQ(json["summary"][0]["times_native"], 3);
  EXPECT_EQ(json["summary"][0]["sizes"], 2);
  EXPECT_TRUE(json["summary"][1]["times_native"].is_null());
  EXPECT_EQ(json["correct"], true);
}

TEST_F(BenchReport, AutoSaysWhatItChose) {
  rows_[0].algorithm = Algorithm::automatic;
  EXPECT_NE(row_text(plan_, rows_[0]).find(" auto: ring "), std::string::npos);
  EXPECT_EQ(row_text(plan_, rows_[1]).find(':'), std::string::npos);
  Json json;
  add_keys(json, plan_, rows_);
  EXPECT_EQ(json["rows"][0]["algorithm"], "auto");
  EXPECT_EQ(json["rows"][0]["carried_by"], "ring");
}

TEST_F(BenchReport, OneRankHasNoBandwidths) {
  plan_.ranks = 1;
  rows_.resize(1);
  rows_[0].bus_bandwidth.reset();
  Json json;
  add_keys(json, plan_, rows_);
  EXPECT_TRUE(json["rows"][0]["algbw"].is_null());
  EXPECT_TRUE(json["rows"][0]["busbw"].is_null());
  EXPECT_EQ(row_text(plan_, rows_[0]).find("B/s"), std::string::npos);
  EXPECT_NE(row_text(plan_, rows_[0]).find("n/a"), std::string::npos);
  EXPECT_EQ(plot_of(plan_, mesh_, rows_).y.label, "size / time of one rank's copy (not the bandwidth of a link)");
  EXPECT_TRUE(json["summary"][0]["best_bandwidth"].is_null());
  EXPECT_EQ(summary_text(rows_).find("B/s"), std::string::npos) << summary_text(rows_);
  EXPECT_NE(summary_text(rows_).find("n/a"), std::string::npos);
}

TEST_F(BenchReport, ComparisonCountsTheRowsWithAPrediction) {
  EXPECT_EQ(comparison_text(rows_), "");
  const auto predict = [&](std::size_t i, double seconds) {
    rows_[i].predicted.emplace();
    rows_[i].predicted->time = Seconds(seconds);
  };
  predict(0, 1e-5);
  predict(2, 5e-6);
  const std::string text = comparison_text(rows_);
  EXPECT_EQ(text.substr(0, text.find(';')), "measured / predicted is 1.50 in the median of 2 rows with a prediction");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST_F(BenchReport, RowsSayWhereTheirArraysLieAndWhatACopyTakes) {
  EXPECT_NE(row_text(plan_, rows_[0]).find(" arena "), std::string::npos);
  EXPECT_NE(row_text(plan_, rows_[1]).find(" heap "), std::string::npos);
  EXPECT_NE(row_text(plan_, rows_[1]).find(" 5.00 us "), std::string::npos);
}

TEST_F(BenchReport, OneWrongElementIsExitCodeOne) {
  EXPECT_EQ(exit_code(rows_), 0);
  EXPECT_NE(summary_text(rows_).find("all 4 rows are right\n"), std::string::npos);
  rows_[2].wrong = 1;
  EXPECT_EQ(exit_code(rows_), 1);
  EXPECT_NE(summary_text(rows_).find("WRONG: 1 of 4 rows\n"), std::string::npos);
}

TEST_F(BenchReport, CsvHasALineForEachRow) {
  plan_.axes = {"data", "model"};
  const std::string text = csv_text(plan_, rows_);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "collective,algorithm,carried_by,axis,ranks,bytes,count,dtype,op,memory,runs,samples,time_s_min,time_s_"
            "median,time_s_p99,"
            "time_s_max,"
            "algbw,busbw,wire_bytes,predicted_s,ratio,limiter,times_native,copy_s,wrong");
  EXPECT_NE(
      text.find("\nall_reduce,native,native,\"{data,model}\",4,1024,256,f32,sum,heap,10,1,2e-05,2e-05,2e-05,2e-05,"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(",,,,,,5e-06,0\n"), std::string::npos);
}

TEST_F(BenchReport, PlotHasACurveForEachAlgorithmAndTwoGuides) {
  const Plot plot = plot_of(plan_, mesh_, rows_);
  ASSERT_EQ(plot.curves.size(), 2U);
  EXPECT_EQ(plot.curves[0].name, "all_reduce ring");
  ASSERT_EQ(plot.curves[0].points.size(), 2U);
  EXPECT_DOUBLE_EQ(plot.curves[0].points[1].first, 4096);
  EXPECT_DOUBLE_EQ(plot.curves[0].points[1].second, 6.144e8);
  ASSERT_EQ(plot.guides.size(), 2U);
  // The line of constant time starts at the fastest point of the smallest size. The ceiling is the best of all.
  EXPECT_EQ(plot.guides[0].name, "latency: 10.0 us");
  EXPECT_DOUBLE_EQ(plot.guides[0].from.first, 1024);
  EXPECT_DOUBLE_EQ(plot.guides[0].from.second, 1.536e8);
  EXPECT_DOUBLE_EQ(plot.guides[0].to.second, 6.144e8);
  EXPECT_EQ(plot.guides[1].name, "ceiling: 614 MB/s");
}

}  // namespace
}  // namespace shardline::tools
