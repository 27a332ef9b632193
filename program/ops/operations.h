#pragma once

#include <string>
#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// The operations there are. Each function appends one to the program and returns what it makes. Index names are the
/// dims of the arrays; sizes must agree. Which indices an axis may split, what results then owe and through which
/// operands a debt may pass is stated here, in one place, for partitioner and checker alike.

/// Sum of products over every index that `dims` lacks, of 1 to 3 operands. Any one operand that occurs once is linear.
ArrayId einsum(Program& program, const std::string& name, const std::vector<ArrayId>& operands,
               const std::vector<std::string>& dims, Role role = Role::activation);

/// Sum of arrays of the same dims; linear in all together.
ArrayId add(Program& program, const std::string& name, const std::vector<ArrayId>& terms, Role role = Role::activation);

/// g * sigmoid(g) * u; linear in u.
ArrayId silu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u);

/// The tanh form of GELU.
ArrayId gelu(Program& program, const std::string& name, ArrayId x);

/// x / sqrt(mean(x^2) + epsilon) * w over the last dim; a split last dim reduces the sums of squares.
ArrayId rms_norm(Program& program, const std::string& name, ArrayId x, ArrayId w, double epsilon);

/// Rotary embedding over dims T and H (halves rotated against each other, as Hugging Face lays them out); H stays
/// whole.
ArrayId rope(Program& program, const std::string& name, ArrayId x, double theta);

/// Causal attention: q[B,T,K,G,H], k and v[B,T,K,H], whose T is called S here and stays whole, as H does.
ArrayId attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v);

/// Rows of table[V,D] at ids[B,T]; a split V owes.
ArrayId embed(Program& program, const std::string& name, ArrayId table, ArrayId ids, Role role = Role::activation);

/// Mean over all tokens of the negative log likelihood of labels[B,T] under logits[B,T,V]: a scalar. A split V reduces
/// maximum, sum and picked logit.
ArrayId cross_entropy(Program& program, const std::string& name, ArrayId logits, ArrayId labels);

/// Sum of the squares of all elements: a scalar that owes the axes sharding `x`; a replica counts once.
ArrayId sum_squares(Program& program, const std::string& name, ArrayId x);

/// Operands of adamw(); the last three are scalars.
struct AdamWOperands {
  ArrayId parameter = -1;
  ArrayId gradient = -1;
  ArrayId first_moment = -1;
  ArrayId second_moment = -1;
  ArrayId norm_squared = -1;  ///< of the whole gradient, for clipping
  ArrayId learning_rate = -1;
  ArrayId step = -1;  ///< counts from 1
};

/// One AdamW step; the new parameter and moments are named with a prime and become Program::updates.
void adamw(Program& program, const AdamWOperands& operands, const kernels::AdamWOptions& options);

/// The gradients, used by differentiate(). Results are written into arrays made by the caller.
void silu_mul_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dg, ArrayId du);
void gelu_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dx);
void rms_norm_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dx, ArrayId dw);
void rope_gradient(Program& program, ArrayId dy, const Operation& forward, ArrayId dx);
void attention_gradient(Program& program, ArrayId do_BTKGH, const Operation& forward, ArrayId dq, ArrayId dk,
                        ArrayId dv);
void embed_gradient(Program& program, ArrayId dx, const Operation& forward, ArrayId dtable);
void cross_entropy_gradient(Program& program, ArrayId dloss, const Operation& forward, ArrayId dlogits);
void einsum_into(Program& program, const std::vector<ArrayId>& operands, ArrayId result);
void add_into(Program& program, const std::vector<ArrayId>& terms, ArrayId result);

}  // namespace shardline
