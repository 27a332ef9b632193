// Reports the faults of a trace file:
//
//   trace_file_check FILE RANKS [--part] [--arrows] [--steps FIRST-LAST] [--record FILE STEPS] [--tasks TASKS]...
//
// --steps: the steps that it must have. --record: the file of --json of the same run; it covers the last STEPS steps.
// --tasks: "F0 F1 B0 B1", once for each stage of a pipeline, in order.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/tools/trace/trace_oracle.h"

using namespace shardline::trace_oracle;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Expected expected{.ranks = std::atoi(argv[2])};
  std::string steps;
  for (int i = 3; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--part") {
      expected.part = true;
    } else if (option == "--arrows") {
      expected.arrows = true;
    } else if (option == "--steps" && i + 1 < argc) {
      steps = argv[++i];
    } else if (option == "--record" && i + 2 < argc) {
      expected.record = argv[++i];
      expected.steps_measured = std::atoi(argv[++i]);
    } else if (option == "--tasks" && i + 1 < argc) {
      expected.tasks.emplace_back(argv[++i]);
    } else {
      return 2;
    }
  }
  std::vector<std::string> found = faults(argv[1], expected);
  if (!steps.empty() && found.empty()) {
    const Json kept = Json::parse(std::ifstream(argv[1])).at("otherData").at("steps");
    const std::string all =
        std::to_string(kept.at("first").get<int>()) + "-" + std::to_string(kept.at("last").get<int>());
    if (all != steps) found.push_back("it has steps " + all + ", not " + steps);
  }
  for (const std::string& fault : found) std::cerr << "trace: " << fault << "\n";
  return found.empty() ? 0 : 1;
}
