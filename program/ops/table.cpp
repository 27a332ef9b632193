#include "program/ops/table.h"

#include <algorithm>

#include "program/ops/adamw.h"
#include "program/ops/add.h"
#include "program/ops/add_bias.h"
#include "program/ops/attention.h"
#include "program/ops/balance_loss.h"
#include "program/ops/cache_attention.h"
#include "program/ops/cast.h"
#include "program/ops/closest_choice.h"
#include "program/ops/combine.h"
#include "program/ops/cross_entropy.h"
#include "program/ops/descent.h"
#include "program/ops/dispatch.h"
#include "program/ops/einsum.h"
#include "program/ops/embed.h"
#include "program/ops/expert_gate.h"
#include "program/ops/expert_load.h"
#include "program/ops/expert_product.h"
#include "program/ops/gelu.h"
#include "program/ops/gelu_mul.h"
#include "program/ops/pick_rows.h"
#include "program/ops/rms_norm.h"
#include "program/ops/rope.h"
#include "program/ops/silu_mul.h"
#include "program/ops/slots.h"
#include "program/ops/softmax.h"
#include "program/ops/squared_error.h"
#include "program/ops/sum_squares.h"
#include "program/ops/top_k.h"
#include "program/ops/write_at.h"
#include "runtime/base/check.h"

namespace shardline {

const std::vector<OperationKind>& operation_kinds() {
  static const std::vector<OperationKind> kinds{
      einsum_kind(),         add_kind(),
      add_bias_kind(),       silu_mul_kind(),
      gelu_kind(),           gelu_mul_kind(),
      rms_norm_kind(),       rope_kind(),
      attention_kind(),      embed_kind(),
      cross_entropy_kind(),  sum_squares_kind(),
      adamw_kind(),          cast_kind(),
      squared_error_kind(),  descent_kind(),
      softmax_kind(),        top_k_kind(),
      slots_kind(),          dispatch_kind(),
      expert_product_kind(), expert_gate_kind(),
      combine_kind(),        balance_loss_kind(),
      expert_load_kind(),    closest_choice_kind(),
      write_at_kind(),       cache_attention_kind(),
      cache_divide_kind(),   pick_rows_kind(),
  };
  return kinds;
}

Derivative derivative_of(const std::string& kind) {
  for (const OperationKind& row : operation_kinds()) {
    if (row.name == kind && row.derivative != nullptr) return row.derivative;
  }
  throw Error("operation " + kind + " has no derivative");
}

}  // namespace shardline
