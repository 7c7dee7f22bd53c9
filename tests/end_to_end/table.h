// Prints a table of deviations, by case and number of devices.
#ifndef DP_TESTS_END_TO_END_TABLE_H
#define DP_TESTS_END_TO_END_TABLE_H

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dp_test {

// The maximum; NaN stays.
inline void Raise(double *most, double by) {
  if (!(by <= *most)) *most = by;
}

// Each cell has the maximum of two kinds of deviation. Rows are in order of arrival or by name.
class Table {
 public:
  explicit Table(const char *what, bool by_name = false) : what_(what), by_name_(by_name) {}
  void Note(const std::string &row, int devices, double first, double second) {
    auto at = std::find_if(rows_.begin(), rows_.end(), [&](const Row &r) { return r.first == row; });
    if (at == rows_.end()) at = rows_.insert(at, {row, {}});
    std::pair<double, double> &cell = at->second[devices];
    Raise(&cell.first, first);
    Raise(&cell.second, second);
    columns_.insert(devices);
  }
  void Print() const {
    if (rows_.empty()) return;
    std::vector<Row> rows = rows_;
    if (by_name_) std::sort(rows.begin(), rows.end());
    printf("\n%s\n%-28s", what_, "");
    for (int devices : columns_) printf("  %11d device%s", devices, devices > 1 ? "s" : " ");
    for (const auto &[name, cells] : rows) {
      printf("\n%-28s", name.c_str());
      for (int devices : columns_) {
        auto cell = cells.find(devices);
        if (cell == cells.end())
          printf("  %19s", "");
        else
          printf("  %8.1e / %8.1e", cell->second.first, cell->second.second);
      }
    }
    printf("\n\n");
  }

 private:
  using Row = std::pair<std::string, std::map<int, std::pair<double, double>>>;
  const char *what_;
  bool by_name_;
  std::vector<Row> rows_;
  std::set<int> columns_;
};

inline double Relative(const std::vector<double> &found, const std::vector<double> &expected) {
  double most = found.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < expected.size() && i < found.size(); i++)
    if (found[i] != expected[i]) Raise(&most, std::fabs(found[i] - expected[i]) / std::fabs(expected[i]));
  return most;
}

}  // namespace dp_test

#endif
