#include "tools/output/quiet_record.h"

#include <nlohmann/json.hpp>

#include "kernels/gemm/gemm.h"
#include "runtime/mpi/environment.h"
#include "tools/version.h"

namespace shardline::tools {

Json quiet_header(const std::string& schema, const std::string& command, const AbstractMesh& mesh) {
  return {{"schema", schema},
          {"command", command},
          {"mesh", mesh_json(mesh)},
          {"machine",
           {{"host", nullptr},
            {"cores", nullptr},
            {"ranks_per_node", nullptr},
            {"threads_per_rank", nullptr},
            {"blas", kernels::blas_description()},
            {"mpi", mpi::library_version()},
            {"commit", commit()}}},
          {"valid_timing", false},
          {"valid_timing_reason", "nothing was run"}};
}

}  // namespace shardline::tools
