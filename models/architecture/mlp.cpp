#include "models/architecture/mlp.h"

#include "program/ops/einsum.h"
#include "program/transform/differentiate.h"

namespace shardline {

Mlp make_mlp(const MlpSizes& sizes, DType dtype) {
  Mlp mlp;
  Program& p = mlp.program;
  p.dtype = dtype;
  p.sizes = {{"B", sizes.batch}, {"D", sizes.d_model}, {"F", sizes.d_ff}};
  const ArrayId in = p.add_input("In", {"B", "D"}, Role::stream);
  const ArrayId w_in = p.add_input("W_in", {"D", "F"}, Role::parameter);
  const ArrayId w_out = p.add_input("W_out", {"F", "D"}, Role::parameter);
  const ArrayId tmp = einsum(p, "Tmp", {in, w_in}, {"B", "F"});
  const ArrayId out = einsum(p, "Out", {tmp, w_out}, {"B", "D"}, Role::stream);
  const ArrayId d_out = p.add_input("dOut", {"B", "D"}, Role::gradient);
  p.array(d_out).primal = out;
  mlp.gradients = differentiate(p, {{out, d_out}}, {in, w_in, w_out});
  p.outputs = {out};
  for (const auto& [array, gradient] : mlp.gradients) p.outputs.push_back(gradient);
  return mlp;
}

}  // namespace shardline
