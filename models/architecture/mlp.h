#pragma once

#include <map>

#include "program/ir/program.h"

namespace shardline {

struct MlpSizes {
  Index batch = 0;    ///< B, in tokens
  Index d_model = 0;  ///< D
  Index d_ff = 0;     ///< F
};

/// The two-matmul block of book section 5.1 with its backward pass: In[B,D] -> W_in[D,F] -> W_out[F,D] ->
/// Out[B,D]. The input dOut[B,D] starts the backward pass.
struct Mlp {
  Program program;
  std::map<ArrayId, ArrayId> gradients;  ///< of In, W_in and W_out
};

Mlp make_mlp(const MlpSizes& sizes, DType dtype = DType::f32);

}  // namespace shardline
