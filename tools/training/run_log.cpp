#include "tools/training/run_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/host/files.h"

namespace shardline::tools {
namespace {

/// The lines of a log up to this step. A last line without its end was cut off.
std::string lines_until(const std::string& path, Index last) {
  const std::string text = read_file(path);
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  std::string kept;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ++number;
    require(json.is_object() && json.contains("step") && json.at("step").is_number_unsigned(),
            "--log {}: line {} is no JSON object with a step, so this is no log of a run", path, number);
    if (json.at("step").get<Index>() <= last) kept += line + "\n";
  }
  return kept;
}

void cut_after(const std::string& path, Index last) { write_whole_file(path, lines_until(path, last)); }

int open_log(const std::string& path, std::optional<Index> begin) {
  std::error_code failure;
  if (begin && std::filesystem::exists(path, failure)) cut_after(path, *begin);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  require(descriptor >= 0, "--log {}: cannot be opened: {}", path, std::strerror(errno));
  return descriptor;
}

}  // namespace

RunLog::RunLog(const mpi::Communicator& world, std::string path, std::optional<Index> begin) : path_(std::move(path)) {
  if (path_.empty()) return;
  mpi::on_root(world, 0, [&] {
    descriptor_ = open_log(path_, begin);
    return std::string();
  });
}

RunLog::~RunLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RunLog::add(Index step, const StepResult& result, double tokens) {
  add_line({{"step", step},
            {"loss", result.loss},
            {"grad_norm", result.grad_norm},
            {"step_s", result.time.value},
            {"data_s", result.data.value},
            {"tokens_per_s", tokens / (result.time + result.data).value},
            {"memory_bytes", result.memory.value},
            {"labels", result.labels}});
}

void RunLog::add_held_out(Index step, double loss) { add_line({{"step", step}, {"val_loss", loss}}); }

void RunLog::add_slower(Index step, Index since, const std::string& text) {
  add_line({{"step", step}, {"slower_since", since}, {"text", text}});
}

void RunLog::add_line(const Json& line) {
  if (descriptor_ < 0) return;
  const std::string text = line.dump() + "\n";
  const ssize_t written = ::write(descriptor_, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return;
  throw ResultError(fmt::format("--log {}: cannot be written: {}", path_,
                                written < 0 ? std::strerror(errno) : "the disk took a part of a line"));
}

}  // namespace shardline::tools
