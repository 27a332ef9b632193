#pragma once

#include <string>
#include <vector>

#include "program/ir/program.h"

namespace shardline {

/// Sequences and tokens per sequence of one run. For a model without sequences every token is a sequence of its own.
struct BatchShape {
  Index sequences = 0;  ///< B
  Index tokens = 0;     ///< T
  bool packed = false;  ///< several documents in a sequence
  /// The tokens of a sequence lie so that every rank of a split has the same share of visible pairs.
  bool balanced = false;
  /// Of experts: in a sequence each has room for `capacity` times its even share of the choices, rounded up, and for T
  /// at most; a choice without room is dropped. 0: room for every choice.
  double capacity = 0;
};

/// A parameter of a model in the program, its form in a Hugging Face checkpoint, and how it starts.
struct ModelParameter {
  ArrayId array = -1;
  std::string checkpoint_name;
  /// A checkpoint stores a projection as a matrix [out, in]. This many of our leading dims are its `in`. 0:
  /// stored without a change.
  int input_dims = 0;
  bool flat = false;  ///< stored as one dim, as a bias is
  /// The first dim counts experts: a checkpoint stores each as a tensor of its own, and checkpoint_name has {} for its
  /// number. input_dims counts the dims after it.
  bool by_expert = false;
  double initial_mean = 0;       ///< of the first values
  double initial_deviation = 0;  ///< standard deviation of the first values
  bool decays = true;            ///< by weight decay: no norm, no bias and no embedding does
};

/// The arrays of a model that continues texts.
struct CacheArrays {
  ArrayId at = -1;     ///< input at[B,T]: where in its sequence each token stands; -1: there is no token
  ArrayId where = -1;  ///< input where[S]: the position that each place of the caches holds
  /// Input last[B,T], of more than one token: 1 at the token of each sequence whose logits are wanted, else 0.
  ArrayId last = -1;
  std::vector<ArrayId> caches = {};  ///< state Kc[B,S,K,H] and Vc[B,S,K,H] of each layer
};

/// A model as a logical program.
struct Model {
  Program program;
  std::vector<ModelParameter> parameters;
  /// Inputs that a batch fills. Their first dim is B. A Transformer has ids[B,T] and, with a loss, labels[B,T]; an MLP
  /// has In[B,D] and Target[B,D]. With packed sequences comes, as the last one, starts[B,T]: for each token the
  /// position at which its document begins.
  std::vector<ArrayId> samples;
  /// Input positions[T] of a Transformer: where in its sequence each token stands. One array serves every batch and
  /// every run. -1 for an MLP, and for a model with caches that does not read it.
  ArrayId positions = -1;
  CacheArrays cached = {};  ///< of a model with caches
  ArrayId result = -1;      ///< logits[B,T,V], or Out[B,D]; see make_generation()
  /// Mean over the batch; -1 for inference. A label below 0 adds nothing to the loss of a Transformer, and the mean is
  /// over all labels nevertheless.
  ArrayId loss = -1;
  /// What uneven routing to experts adds to the loss, for each layer; see balance_loss(). Only in training.
  std::vector<ArrayId> balance = {};
  /// For each layer with experts: what was routed, see expert_load() (in training and evaluation), and the closest
  /// decision, see closest_choice() (in evaluation). A rank's arrays are its own part: the ranks owe them.
  std::vector<ArrayId> routed = {};
  std::vector<ArrayId> dropped = {};
  std::vector<ArrayId> closest = {};
};

}  // namespace shardline
