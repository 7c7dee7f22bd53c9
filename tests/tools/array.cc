#include "tests/tools/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace {

std::string Content(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

template <typename T>
void Take(const std::string &content, size_t at, std::vector<double> *numbers) {
  for (; at + sizeof(T) <= content.size(); at += sizeof(T)) {
    T x;
    memcpy(&x, content.data() + at, sizeof x);
    numbers->push_back(static_cast<double>(x));
  }
}

}  // namespace

Array ReadNpy(const std::string &path) {
  Array array;
  const std::string content = Content(path);
  if (content.size() < 10 || content.compare(0, 8, std::string("\x93NUMPY\x01\x00", 8))) {
    ADD_FAILURE() << path << " is no .npy";
    return array;
  }
  size_t header = static_cast<unsigned char>(content[8]) + 256u * static_cast<unsigned char>(content[9]);
  const std::string text = content.substr(10, header);
  array.descr = text.substr(text.find("'descr': '") + 10, 3);
  size_t open = text.find('(');
  std::istringstream in(text.substr(open + 1, text.find(')') - open - 1));
  for (std::string extent; std::getline(in, extent, ',');)
    if (extent.find_first_of("0123456789") != std::string::npos) array.shape.push_back(std::stoll(extent));
  const size_t at = 10 + header;
  if (array.descr == "<f4")
    Take<float>(content, at, &array.numbers);
  else if (array.descr == "<f8")
    Take<double>(content, at, &array.numbers);
  else if (array.descr == "<i8")
    Take<int64_t>(content, at, &array.numbers);
  else
    ADD_FAILURE() << path << ": " << array.descr;
  size_t count = 1;
  for (int64_t extent : array.shape) count *= static_cast<size_t>(extent);
  EXPECT_EQ(array.numbers.size(), count) << path;
  return array;
}

std::string Npy(const std::vector<int64_t> &shape, const std::vector<double> &numbers) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape) header += std::to_string(extent) + ",";
  header += "), }\n";
  std::string content("\x93NUMPY\x01\x00", 8);
  content += {static_cast<char>(header.size()), 0};
  return content + header +
         std::string(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(double));
}

std::vector<int> ReadIdxBytes(const std::string &path, size_t header_bytes) {
  const std::string content = Content(path);
  std::vector<int> numbers;
  for (size_t i = header_bytes; i < content.size(); i++) numbers.push_back(static_cast<unsigned char>(content[i]));
  return numbers;
}

Measures Measure(const Array &scores, const std::vector<int> &labels) {
  size_t classes = static_cast<size_t>(scores.shape.back());
  EXPECT_EQ(scores.numbers.size(), labels.size() * classes);
  Measures m = {0, 0};
  for (size_t i = 0; i < labels.size() && (i + 1) * classes <= scores.numbers.size(); i++) {
    const double *s = &scores.numbers[i * classes];
    double highest = s[0], sum = 0;
    size_t best = 0;
    for (size_t c = 0; c < classes; c++)
      if (s[c] > highest) highest = s[best = c];
    for (size_t c = 0; c < classes; c++) sum += std::exp(s[c] - highest);
    m.loss += std::log(sum) + highest - s[labels[i]];
    m.accuracy += static_cast<int>(best) == labels[i];
  }
  m.loss /= static_cast<double>(labels.size());
  m.accuracy /= static_cast<double>(labels.size());
  return m;
}
