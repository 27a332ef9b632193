// Compares a page, after a browser has read it, with the record of the same run:
//
//   report_check PAGE_DOM RECORD RANKS

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

int failures = 0;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  fmt::print("FAILED: {}\n", what);
  ++failures;
}

std::string read(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int occurrences(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// The text as browsers write it. Pages have blanks for tabs and similar characters.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c >= 0 && c < ' ' ? " " : c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return result;
}

/// The first text between `begin` and `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  return text.substr(at + begin.size(), text.find(end, at + begin.size()) - at - begin.size());
}

/// The values of all data-operation attributes.
std::multiset<std::string> dots_of(const std::string& page) {
  std::multiset<std::string> dots;
  const std::string begin = "data-operation=\"";
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    dots.insert(page.substr(from, page.find('"', from) - from));
  }
  return dots;
}

/// A dot for every operation of a train or matmul record that took time and touched any bytes. The page
/// mentions the others.
void check_operations(const std::string& page, const Json& record) {
  std::multiset<std::string> expected;
  const std::string without = between(page, "<p>Without a dot", "</p>");
  for (const Json& operation : record["operations"]) {
    const std::string text = operation["text"].get<std::string>();
    const bool moves = operation["bytes"] > 0 || operation["wire_bytes"] > 0;
    if (operation["measured_s"] > 0 && moves) {
      expected.insert(text);
    } else {
      expect(without.find(escaped(text)) != std::string::npos, text + " has no dot and is not named");
    }
    expect(page.find("<td class=\"word\">" + escaped(text) + "</td>") != std::string::npos,
           text + " is not in the table");
  }
  expect(!expected.empty(), "the record has no operations");
  const std::multiset<std::string> dots = dots_of(page);
  for (const std::string& name : expected) {
    expect(dots.count(name) == expected.count(name),
           fmt::format("{} dots of {}, {} operations", dots.count(name), name, expected.count(name)));
  }
  expect(dots.size() == expected.size(), fmt::format("{} dots, {} operations", dots.size(), expected.size()));
}

/// A marker for every row of a bench record, and a dot for every predicted collective by an algorithm.
void check_rows(const std::string& page, const Json& record) {
  const std::string plot = between(page, "<h2>Bandwidth against size</h2>", "</section>");
  std::set<std::string> predicted;
  std::size_t rows = 0;
  for (const Json& row : record["rows"]) {
    if (row["bytes"] > 0) ++rows;
    const std::string name =
        fmt::format("{} {}", row["collective"].get<std::string>(), row["algorithm"].get<std::string>());
    expect(plot.find("<title>" + name + ": ") != std::string::npos, "no marker of " + name);
    if (!row["predicted_s"].is_null()) predicted.insert(name);
  }
  expect(static_cast<std::size_t>(occurrences(plot, "<title>")) == rows, fmt::format("not {} markers", rows));
  const std::multiset<std::string> dots = dots_of(page);
  for (const std::string& name : predicted) {
    std::size_t count = 0;
    for (const std::string& dot : dots) count += dot.rfind(name, 0) == 0 ? 1 : 0;
    expect(count == 1, fmt::format("{} dots of {}", count, name));
  }
  expect(dots.size() == predicted.size(), fmt::format("{} dots, {} predicted", dots.size(), predicted.size()));
}

/// Lanes of every rank, with boxes in them.
void check_timeline(const std::string& page, int ranks) {
  const std::string timeline = between(page, "<h2>Timeline</h2>", "</section>");
  expect(occurrences(timeline, "<g class=\"lane\">") == 2 * ranks, "not two lanes for each rank");
  const std::string lanes = timeline.substr(std::min(timeline.size(), timeline.find("<g class=\"lane\">")));
  const int boxes = occurrences(lanes, "<rect ");
  expect(boxes >= ranks && boxes <= 600, fmt::format("{} boxes in the timeline", boxes));
}

/// Every stage has each of its tasks twice, measured and predicted, and a row for where its time went.
void check_stages(const std::string& page, const Json& record) {
  const std::string section = between(page, "<h2>Stages</h2>", "</section>");
  const auto stages = static_cast<int>(record["stages"].size());
  expect(occurrences(section, "<g class=\"lane\">") == 2 * stages, "not two rows for each stage");
  for (int batch = 0; batch < record["micro_batches"]; ++batch) {
    for (const char* kind : {"F", "I", "W"}) {
      const std::string task = fmt::format("<title>{}{}: ", kind, batch);
      expect(occurrences(section, task) == 2 * stages, task + " is not twice on each stage");
    }
  }
  for (int stage = 0; stage < stages; ++stage) {
    expect(section.find(fmt::format("<td class=\"word\">stage {}</td>", stage)) != std::string::npos,
           "no row of a stage");
  }
}

void check_facts(const std::string& page, const Json& record) {
  for (const char* key : {"host", "blas", "mpi", "commit"}) {
    const std::string text = record["machine"][key].get<std::string>();
    expect(between(page, "<dl>", "</dl>").find(escaped(text)) != std::string::npos, text + " is not on the page");
  }
  if (record["valid_timing"] == true) {
    expect(page.find("Timings are not valid") == std::string::npos, "valid timings are called invalid");
  } else {
    const std::string reason = record["valid_timing_reason"].get<std::string>();
    expect(page.find(escaped("Timings are not valid: " + reason)) != std::string::npos, "no word of invalid timings");
  }
}

void check_program(const std::string& page, const Json& record) {
  const std::string program = between(page, "<h2>Program</h2>", "</section>");
  for (const Json& line : record["program"]) {
    expect(program.find(escaped(line.get<std::string>()) + "\n") != std::string::npos,
           line.get<std::string>() + " is not on the page");
  }
}

/// For a plan: roofline dots of the kinds in every training step, a row for each of the best candidates, and
/// both figures of strategies by batch.
void check_plan(const std::string& page, const Json& record) {
  const std::multiset<std::string> dots = dots_of(page);
  for (const char* kind : {"einsum", "attention", "attention_grad", "adamw", "rope", "norm_grad", "embed"}) {
    expect(dots.count(kind) == 1, fmt::format("{} dots of {}", dots.count(kind), kind));
  }
  const bool moves = record["best"]["t_comms_s"] > 0;
  bool collective = false;
  for (const std::string& dot : dots) collective = collective || dot.find(" over ") != std::string::npos;
  expect(collective == moves, "dots of collectives do not go with what moves");
  const std::string table = between(page, "<h2>The whole step priced</h2>", "</section>");
  for (std::size_t i = 0; i < std::min<std::size_t>(record["candidates"].size(), 12); ++i) {
    const std::string strategy = record["candidates"][i]["strategy"].get<std::string>();
    expect(table.find(escaped(strategy) + "</td>") != std::string::npos, strategy + " is not in the table");
  }
  const std::string batch = between(page, "<h2>Strategies against the batch</h2>", "</section>");
  expect(occurrences(batch, "<figure") == 2, "not two figures of strategies against the batch");
  for (const char* name : {"FSDP alone", "tensor parallelism alone", "best mesh", "this batch"}) {
    expect(batch.find(name) != std::string::npos, fmt::format("no curve of {}", name));
  }
}

/// For a plan of generation: a marker for each point of the frontier.
void check_generation(const std::string& page, const Json& record) {
  const std::string section = between(page, "<h2>Latency and throughput</h2>", "</section>");
  const std::string figure = between(section, "<figure", "</figure>");
  expect(occurrences(section, "<figure") == 2, "not two figures of generation");
  const Json& points = record["generate"]["frontier"];
  expect(static_cast<std::size_t>(occurrences(figure, "<title>")) == points.size(),
         fmt::format("not {} markers", points.size()));
  for (const char* name : {"reading parameters", "reading caches", "FLOPs", "links"}) {
    expect(section.find(name) != std::string::npos, fmt::format("no curve of {}", name));
  }
}

/// The seconds of a text like "844 us".
double seconds_of(const std::string& text) {
  std::istringstream words(text);
  double value = 0;
  std::string unit;
  words >> value >> unit;
  const std::string prefixes = "num";
  const std::size_t at = unit.size() == 2 ? prefixes.find(unit[0]) : std::string::npos;
  return at == std::string::npos ? value : value * std::pow(10, -9 + 3 * static_cast<int>(at));
}

/// The rows of the first table of a section, as cells.
std::vector<std::vector<std::string>> table_of(const std::string& section) {
  std::vector<std::vector<std::string>> rows;
  std::string body = between(section, "<tbody>", "</tbody>");
  for (std::size_t at = body.find("<tr>"); at != std::string::npos; at = body.find("<tr>", at + 1)) {
    const std::string row = body.substr(at, body.find("</tr>", at) - at);
    auto& cells = rows.emplace_back();
    for (std::size_t from = row.find("<td"); from != std::string::npos; from = row.find("<td", from + 1)) {
      const std::size_t begin = row.find('>', from) + 1;
      cells.push_back(row.substr(begin, row.find("</td>", begin) - begin));
    }
  }
  return rows;
}

/// For texts: a marker and a row for each measured batch, with the times of the record, the batch of the run among
/// them; what was left out is named; each phase has its rooflines.
void check_texts(const std::string& page, const Json& record) {
  const std::string section = between(page, "<h2>More sequences</h2>", "</section>");
  const Json& batches = record["decode"]["batches"];
  expect(static_cast<std::size_t>(occurrences(section, "<title>measured: ")) == batches.size(),
         fmt::format("not {} measured markers", batches.size()));
  for (const char* name : {"predicted", "reading", "computing"}) {
    expect(section.find(std::string("<title>") + name + ": ") != std::string::npos,
           fmt::format("no curve of {}", name));
  }
  const std::vector<std::vector<std::string>> rows = table_of(section);
  expect(rows.size() == batches.size(), fmt::format("{} rows of {} batches", rows.size(), batches.size()));
  const auto near = [](const std::string& cell, const Json& value) {
    return std::abs(seconds_of(cell) / value.get<double>() - 1) < 0.01;
  };
  bool of_run = false;
  for (std::size_t i = 0; i < std::min(rows.size(), batches.size()); ++i) {
    const Json& batch = batches[i];
    const std::string number = std::to_string(batch["batch"].get<int>());
    expect(rows[i].size() == 6 && rows[i][0] == number && near(rows[i][1], batch["time_s"]["median"]) &&
               near(rows[i][3], batch["predicted_s"]) && near(rows[i][4], batch["bound_s"]),
           "the row of batch " + number + " is not that of the record");
    if (batch["batch"].get<std::size_t>() != record["outputs"].size()) continue;
    of_run = batch["time_s"] == record["decode"]["time_s"] && batch["bound_s"] == record["decode"]["bound_s"];
  }
  expect(of_run, "the batch of the run is not among the measured ones");
  for (const Json& left : record["decode"]["batches_left_out"]) {
    expect(section.find(left["reason"].get<std::string>()) != std::string::npos, "a batch is missing without a word");
  }
  for (const char* phase : {"prefill", "decode"}) {
    for (const Json& operation : record[phase]["operations"]) {
      const std::string text = operation["text"].get<std::string>();
      expect(page.find("<td class=\"word\">" + escaped(text) + "</td>") != std::string::npos,
             text + " is not in the tables");
    }
  }
  expect(page.find("<h2>Prefill: ") != std::string::npos && page.find("<h2>Decode: ") != std::string::npos,
         "not both phases have figures");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string page = read(argv[1]);
  const Json record = Json::parse(read(argv[2]));
  const std::string command = record["command"].get<std::string>();
  if (command != "plan") check_facts(page, record);
  const bool generates = record.contains("generate");
  expect(generates || occurrences(page, "<g class=\"bars\">") > 0, "no bars");
  if (generates) {
    check_generation(page, record);
  } else if (command == "plan") {
    check_plan(page, record);
    check_timeline(page, 1);
  } else if (command == "bench") {
    check_rows(page, record);
  } else if (command == "generate") {
    check_texts(page, record);
    check_timeline(page, std::atoi(argv[3]));
  } else {
    check_operations(page, record);
    check_timeline(page, std::atoi(argv[3]));
    check_program(page, record);
    if (record.contains("stages")) check_stages(page, record);
  }
  return failures == 0 ? 0 : 1;
}
