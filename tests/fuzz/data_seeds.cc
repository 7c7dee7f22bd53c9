// The seeds of fuzz_data: small files of each format, which NumPy and Pillow made (tests/runtime/data), as each of the
// kinds that can be read from them.
#include <sstream>

#include "tests/fuzz/data_kinds.h"
#include "tests/fuzz/seeds.h"

namespace seeds {

namespace {

enum { kMost = 7 * 1024 };  // bytes of a seed; fuzz_data takes a few more

bool EndsWith(const std::string &text, const std::string &ending) {
  return text.size() >= ending.size() && !text.compare(text.size() - ending.size(), ending.size(), ending);
}

// The first members of a tar archive, whole.
std::string FirstMembers(const std::string &archive) {
  size_t at = 0;
  for (;;) {
    const size_t bytes = std::stoul(archive.substr(at + 124, 12), nullptr, 8),
                 next = at + 512 + (bytes + 511) / 512 * 512;
    if (next > kMost) return archive.substr(0, at);
    at = next;
  }
}

// Of larger files, what is whole of them.
std::string Cut(const std::string &name, const std::string &content) {
  if (name == "cifar10.bin") return content.substr(0, 2 * 3073);
  if (name == "cifar100.bin") return content.substr(0, 2 * 3074);
  return EndsWith(name, ".tar") ? FirstMembers(content) : content;
}

// A pattern of two files.
void WritePair(size_t kind, const std::string &a, const std::string &b) {
  if (a.size() + b.size() > kMost) return;
  std::string seed(1, static_cast<char>(kind | DATA_IS_PATTERN));
  seed += static_cast<char>(a.size() & 0xFF);
  seed += static_cast<char>(a.size() >> 8);
  Write(seed + a + b);
}

}  // namespace

void Data(const std::vector<std::string> &files) {
  for (size_t k = 0; k < DP_COUNT(data_kinds); k++) {
    const std::string first(1, static_cast<char>(k));
    std::istringstream names(data_kinds[k].seeds);
    std::string before;
    for (std::string name; names >> name;)
      for (const std::string &file : files) {
        if (!EndsWith(file, "/" + name)) continue;
        const std::string content = Cut(name, ReadAll(file));
        Write(first + content);
        WritePair(k, content, content);
        if (!before.empty()) WritePair(k, before, content);
        before = content;
      }
  }
  // IDX of 3 samples of 2x2 bytes.
  const char idx[] =
      "\0\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02"
      "0123456789ab";
  Write(std::string(idx, sizeof idx - 1));
}

}  // namespace seeds
