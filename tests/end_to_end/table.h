// A table of deviations by case and number of devices, printed for people to quote.
#ifndef DP_TESTS_END_TO_END_TABLE_H
#define DP_TESTS_END_TO_END_TABLE_H

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dp_test {

// In each cell the largest of two deviations.
class Table {
 public:
  explicit Table(const char *what) : what_(what) {}
  void Note(const std::string &row, int devices, double first, double second) {
    if (rows_.empty() || rows_.back().first != row) rows_.push_back({row, {}});
    rows_.back().second[devices] = {first, second};
  }
  void Print() const {
    if (rows_.empty()) return;
    printf("\n%s\n%-28s", what_, "");
    for (const auto &cell : rows_[0].second) printf("  %11d device%s", cell.first, cell.first > 1 ? "s" : " ");
    for (const auto &[name, cells] : rows_) {
      printf("\n%-28s", name.c_str());
      for (const auto &[devices, cell] : cells) printf("  %8.1e / %8.1e", cell.first, cell.second);
    }
    printf("\n\n");
  }

 private:
  const char *what_;
  std::vector<std::pair<std::string, std::map<int, std::pair<double, double>>>> rows_;
};

// The largest; a NaN stays.
inline void Raise(double *most, double by) {
  if (!(by <= *most)) *most = by;
}

inline double Relative(const std::vector<double> &found, const std::vector<double> &expected) {
  double most = found.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < expected.size() && i < found.size(); i++)
    if (found[i] != expected[i]) Raise(&most, std::fabs(found[i] - expected[i]) / std::fabs(expected[i]));
  return most;
}

}  // namespace dp_test

#endif
