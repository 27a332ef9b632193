#include "program/timetable/task.h"

#include <string_view>

namespace shardline {

std::string to_string(TaskKind kind) {
  constexpr std::string_view kLetters = "FBIW";
  return std::string(1, kLetters[static_cast<std::size_t>(kind)]);
}

}  // namespace shardline
