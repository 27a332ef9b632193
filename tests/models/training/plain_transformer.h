// A Transformer in plain loops, for comparison. It shares nothing with the program but the sizes and the names of the
// weights. Its derivatives are those of the complex step: the imaginary part of f(w + ih), divided by h, has no
// difference of large numbers in it and is right to the last places.
#pragma once

#include <cmath>
#include <complex>
#include <map>
#include <string>
#include <vector>

#include "models/architecture/config.h"

namespace shardline {

/// Samples as lists. A label below 0 does not count.
struct PlainRows {
  std::vector<std::vector<int>> ids;
  std::vector<std::vector<int>> labels;
};

class PlainTransformer {
 public:
  using Complex = std::complex<double>;
  using Vector = std::vector<Complex>;

  /// Weights by the names of their arrays, each in row-major order.
  PlainTransformer(const TransformerConfig& config, const std::map<std::string, std::vector<double>>& weights)
      : config_(config) {
    for (const auto& [name, values] : weights) weights_[name] = Vector(values.begin(), values.end());
  }

  static int counted(const PlainRows& rows) {
    int count = 0;
    for (const auto& row : rows.labels) {
      for (const int label : row) count += label >= 0 ? 1 : 0;
    }
    return count;
  }

  /// The mean over the labels that count.
  double loss(const PlainRows& rows) const { return complex_loss(rows).real(); }

  /// Of that mean, by every weight.
  std::map<std::string, std::vector<double>> gradients(const PlainRows& rows) {
    constexpr double kStep = 1e-40;
    std::map<std::string, std::vector<double>> all;
    for (auto& [name, values] : weights_) {
      for (Complex& value : values) {
        const Complex before = value;
        value += Complex(0, kStep);
        all[name].push_back(complex_loss(rows).imag() / kStep);
        value = before;
      }
    }
    return all;
  }

 private:
  Complex complex_loss(const PlainRows& rows) const {
    Complex sum = 0;
    for (std::size_t row = 0; row < rows.ids.size(); ++row) {
      const std::vector<Vector> logits = forward(rows.ids[row]);
      for (std::size_t t = 0; t < logits.size(); ++t) {
        const int label = rows.labels[row][t];
        if (label < 0) continue;
        Complex z = 0;
        for (const Complex logit : logits[t]) z += std::exp(logit);
        sum += std::log(z) - logits[t][static_cast<std::size_t>(label)];
      }
    }
    return sum / static_cast<double>(counted(rows));
  }

  std::vector<Vector> forward(const std::vector<int>& ids) const {
    std::vector<Vector> x;
    for (const int id : ids) {
      const auto begin = weights_.at("E").begin() + id * config_.d_model;
      x.emplace_back(begin, begin + config_.d_model);
    }
    for (Index layer = 1; layer <= config_.layers; ++layer) {
      const std::string n = std::to_string(layer);
      add(x, attention(n, normed(x, "w_attn" + n)));
      add(x, mlp(n, normed(x, "w_mlp" + n)));
    }
    std::vector<Vector> logits;
    for (const Vector& z : normed(x, "w_final")) {
      Vector row(static_cast<std::size_t>(config_.vocab));
      for (std::size_t v = 0; v < row.size(); ++v) {
        for (std::size_t d = 0; d < z.size(); ++d) row[v] += z[d] * weights_.at("U")[v * z.size() + d];
      }
      logits.push_back(row);
    }
    return logits;
  }

  static void add(std::vector<Vector>& x, const std::vector<Vector>& y) {
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t d = 0; d < x[t].size(); ++d) x[t][d] += y[t][d];
    }
  }

  std::vector<Vector> normed(std::vector<Vector> x, const std::string& name) const {
    for (Vector& row : x) {
      Complex squares = 0;
      for (const Complex value : row) squares += value * value;
      const Complex root = std::sqrt(squares / static_cast<double>(row.size()) + config_.rms_eps);
      for (std::size_t d = 0; d < row.size(); ++d) row[d] *= weights_.at(name)[d] / root;
    }
    return x;
  }

  /// y times a matrix [y.size(), columns].
  Vector times(const Vector& y, const std::string& name) const {
    const Vector& matrix = weights_.at(name);
    const std::size_t columns = matrix.size() / y.size();
    Vector made(columns);
    for (std::size_t d = 0; d < y.size(); ++d) {
      for (std::size_t c = 0; c < columns; ++c) made[c] += y[d] * matrix[d * columns + c];
    }
    return made;
  }

  /// Heads of a row one after the other, each turned by the position.
  void turn(Vector& heads, std::size_t position) const {
    const auto width = static_cast<std::size_t>(config_.head_dim);
    for (std::size_t head = 0; head < heads.size(); head += width) {
      for (std::size_t i = 0; i < width / 2; ++i) {
        const double angle = static_cast<double>(position) *
                             std::pow(config_.rope_theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
        Complex& one = heads[head + i];
        Complex& other = heads[head + i + width / 2];
        const Complex turned = one * std::cos(angle) - other * std::sin(angle);
        other = other * std::cos(angle) + one * std::sin(angle);
        one = turned;
      }
    }
  }

  std::vector<Vector> attention(const std::string& n, const std::vector<Vector>& y) const {
    const auto width = static_cast<std::size_t>(config_.head_dim);
    const auto group = static_cast<std::size_t>(config_.heads / config_.kv_heads);
    std::vector<Vector> queries, keys, values, made;
    for (std::size_t t = 0; t < y.size(); ++t) {
      queries.push_back(times(y[t], "W_q" + n));
      keys.push_back(times(y[t], "W_k" + n));
      values.push_back(times(y[t], "W_v" + n));
      turn(queries[t], t);
      turn(keys[t], t);
      Vector out(queries[t].size());
      for (std::size_t head = 0; head < out.size() / width; ++head) {
        const std::size_t q = head * width;
        const std::size_t k = head / group * width;
        Vector share;
        Complex sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          Complex score = 0;
          for (std::size_t h = 0; h < width; ++h) score += queries[t][q + h] * keys[s][k + h];
          share.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
          sum += share.back();
        }
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t h = 0; h < width; ++h) out[q + h] += share[s] / sum * values[s][k + h];
        }
      }
      made.push_back(times(out, "W_o" + n));
    }
    return made;
  }

  std::vector<Vector> mlp(const std::string& n, const std::vector<Vector>& y) const {
    std::vector<Vector> made;
    for (const Vector& row : y) {
      Vector inner = times(row, "W_up" + n);
      const Vector gate = times(row, "W_gate" + n);
      for (std::size_t f = 0; f < inner.size(); ++f) inner[f] *= gate[f] / (1.0 + std::exp(-gate[f]));
      made.push_back(times(inner, "W_down" + n));
    }
    return made;
  }

  TransformerConfig config_;
  std::map<std::string, Vector> weights_;
};

}  // namespace shardline
