#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "models/architecture/config.h"

namespace shardline {

/// A Transformer written with loops over single tokens, in f64: the oracle of generation. It shares no code with the
/// runtime.
class PlainTransformer {
 public:
  /// The element of a parameter, by its name in programs and its row-major index.
  using Weights = std::function<double(const std::string&, Index)>;

  PlainTransformer(const TransformerConfig& config, Weights weights) : c_(config), w_(std::move(weights)) {}

  /// The logits [T][V] that follow each token of a sequence.
  std::vector<std::vector<double>> logits(const std::vector<std::int32_t>& ids) const {
    const std::size_t tokens = ids.size();
    std::vector<std::vector<double>> x(tokens);
    for (std::size_t t = 0; t < tokens; ++t) x[t] = row("E", ids[t], c_.d_model);
    for (Index layer = 1; layer <= c_.layers; ++layer) {
      const std::string n = std::to_string(layer);
      attend(x, n);
      for (std::vector<double>& each : x) {
        const std::vector<double> y = norm(each, "w_mlp" + n);
        add(each, c_.experts.count > 0 ? experts(y, n) : mlp(y, n, 0));
      }
    }
    std::vector<std::vector<double>> all;
    for (const std::vector<double>& each : x) {
      const std::vector<double> z = norm(each, "w_final");
      std::vector<double> out;
      for (Index v = 0; v < c_.vocab; ++v) out.push_back(dot(z, row(c_.tied ? "E" : "U", v, c_.d_model)));
      all.push_back(std::move(out));
    }
    return all;
  }

 private:
  using Vector = std::vector<double>;

  Vector row(const std::string& name, Index i, Index size) const {
    Vector values;
    for (Index d = 0; d < size; ++d) values.push_back(w_(name, i * size + d));
    return values;
  }
  static double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }
  static void add(Vector& a, const Vector& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  }
  /// y[j] = the sum of x[i] W[first + i, j].
  Vector times(const Vector& x, const std::string& name, Index columns, Index first = 0) const {
    Vector y(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (Index j = 0; j < columns; ++j) {
        y[static_cast<std::size_t>(j)] += x[i] * w_(name, (first + static_cast<Index>(i)) * columns + j);
      }
    }
    return y;
  }
  Vector norm(const Vector& x, const std::string& name) const {
    const double scale = 1 / std::sqrt(dot(x, x) / static_cast<double>(x.size()) + c_.rms_eps);
    Vector y = x;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= scale * w_(name, static_cast<Index>(i));
    return y;
  }
  /// Heads of head_dim, turned by the position t.
  void turn(Vector& x, std::size_t t) const {
    const auto head = static_cast<std::size_t>(c_.head_dim), half = head / 2;
    for (std::size_t begin = 0; begin < x.size(); begin += head) {
      for (std::size_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(t) * std::pow(c_.rope_theta, -static_cast<double>(i) / static_cast<double>(half));
        const double low = x[begin + i], high = x[begin + half + i];
        x[begin + i] = low * std::cos(angle) - high * std::sin(angle);
        x[begin + half + i] = high * std::cos(angle) + low * std::sin(angle);
      }
    }
  }
  Vector projected(const Vector& y, const std::string& which, const std::string& n, Index heads) const {
    Vector made = times(y, "W_" + which + n, heads * c_.head_dim);
    for (std::size_t i = 0; c_.qkv_biases && i < made.size(); ++i)
      made[i] += w_("b_" + which + n, static_cast<Index>(i));
    return made;
  }
  void attend(std::vector<Vector>& x, const std::string& n) const {
    const auto head = static_cast<std::size_t>(c_.head_dim);
    const auto heads = static_cast<std::size_t>(c_.heads), group = heads / static_cast<std::size_t>(c_.kv_heads);
    std::vector<Vector> queries, keys, values;
    for (std::size_t t = 0; t < x.size(); ++t) {
      const Vector y = norm(x[t], "w_attn" + n);
      queries.push_back(projected(y, "q", n, c_.heads));
      keys.push_back(projected(y, "k", n, c_.kv_heads));
      values.push_back(projected(y, "v", n, c_.kv_heads));
      turn(queries.back(), t);
      turn(keys.back(), t);
    }
    for (std::size_t t = 0; t < x.size(); ++t) {
      Vector o(heads * head);
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t kv = h / group;
        Vector weights;
        for (std::size_t s = 0; s <= t; ++s) {
          double score = 0;
          for (std::size_t i = 0; i < head; ++i) score += queries[t][h * head + i] * keys[s][kv * head + i];
          weights.push_back(score / std::sqrt(static_cast<double>(head)));
        }
        const double most = *std::max_element(weights.begin(), weights.end());
        double sum = 0;
        for (double& weight : weights) sum += weight = std::exp(weight - most);
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t i = 0; i < head; ++i) o[h * head + i] += weights[s] / sum * values[s][kv * head + i];
        }
      }
      add(x[t], times(o, "W_o" + n, c_.d_model));
    }
  }
  static double silu(double g) { return g / (1 + std::exp(-g)); }
  /// The MLP, or expert number `expert`.
  Vector mlp(const Vector& y, const std::string& n, Index expert) const {
    const Vector g = times(y, "W_gate" + n, c_.d_ff, expert * c_.d_model);
    Vector s = times(y, "W_up" + n, c_.d_ff, expert * c_.d_model);
    for (std::size_t i = 0; i < s.size(); ++i) s[i] *= silu(g[i]);
    return times(s, "W_down" + n, c_.d_model, expert * c_.d_ff);
  }
  Vector experts(const Vector& y, const std::string& n) const {
    Vector scores = times(y, "W_router" + n, c_.experts.count);
    std::vector<Index> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    order.resize(static_cast<std::size_t>(c_.experts.chosen));
    double sum = 0;
    for (const Index e : order) sum += std::exp(scores[static_cast<std::size_t>(e)]);
    Vector all(y.size());
    for (const Index e : order) {
      Vector made = mlp(y, n, e);
      for (double& value : made) value *= std::exp(scores[static_cast<std::size_t>(e)]) / sum;
      add(all, made);
    }
    return all;
  }

  TransformerConfig c_;
  Weights w_;
};

}  // namespace shardline
