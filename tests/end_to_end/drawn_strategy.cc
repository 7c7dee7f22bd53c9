// The strategies, a line of a table each: what is asked for, on which meshes, with or without micro-batches, and with what
// annotations.
#include <algorithm>
#include <sstream>

#include "tests/end_to_end/drawn.h"

namespace dp_test {
namespace {

// What is asked for beside the mesh.
enum { kPlain = 0, kShards = 1, kMicro = 2, kSchedule = 4, kStages = 8 };

const struct Way {
  const char *name, *strategy;
  const char *meshes[3];  // for 2, 4 and 8 devices; alternatives apart by '|'; absent: --devices
  int more;
} kWays[] = {
    {"data", "data", {}, kPlain},
    {"zero 1", "zero zero-stage=1", {}, kPlain},
    {"zero 2", "zero zero-stage=2", {}, kPlain},
    {"zero 3", "zero zero-stage=3", {}, kPlain},
    {"tensor", "tensor", {}, kPlain},
    {"data x tensor",
     "tensor",
     {"data:2,tensor:1", "data:2,tensor:2|tensor:2,data:2", "data:2,tensor:4|data:4,tensor:2"},
     kPlain},
    {"zero 1 x tensor",
     "zero zero-stage=1",
     {"tensor:2,data:1", "data:2,tensor:2", "data:4,tensor:2|tensor:4,data:2"},
     kPlain},
    {"zero 3 x tensor",
     "zero zero-stage=3",
     {"data:2,tensor:1", "data:2,tensor:2", "data:2,tensor:4|data:4,tensor:2"},
     kPlain},
    {"manual shard", "manual", {"tensor:2|a:2", "tensor:4|a:2,b:2", "tensor:8|a:2,b:4|a:2,b:2,c:2"}, kShards},
    {"data x manual shard", "data", {"data:2,a:1", "data:2,a:2", "data:2,a:4|a:2,data:2,b:2"}, kShards},
};

std::vector<std::string> Alternatives(const char *meshes) {
  std::vector<std::string> all;
  std::istringstream in(meshes);
  for (std::string one; std::getline(in, one, '|');) all.push_back(one);
  return all;
}

// The axes of a mesh that are nobody's but the user's: not data.
std::vector<std::string> AxesOf(const std::string &mesh) {
  std::vector<std::string> axes;
  std::istringstream in(mesh);
  for (std::string axis; std::getline(in, axis, ',');)
    if (axis.rfind("data:", 0) != 0) axes.push_back(axis.substr(0, axis.find(':')));
  return axes;
}

// Parameters split here and there, one in two on each axis. A dim of one element is not split: the rule refuses it.
std::string WithShards(Draw &draw, const std::string &text, const std::vector<std::string> &axes) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line); out += line + "\n") {
    if (line.rfind("  parameter ", 0) != 0) continue;
    std::string pins;
    std::vector<int> extents;
    std::istringstream shape(line.substr(line.find('[') + 1));
    for (int extent; shape >> extent; shape.ignore()) extents.push_back(extent);
    for (const std::string &axis : axes) {
      const int dim = draw.UpTo(int(extents.size()));
      if (extents[size_t(dim)] > 1 && draw.OneIn(2))
        pins += (pins.empty() ? "" : ", ") + axis + "=" + std::to_string(dim);
    }
    if (!pins.empty()) line += " shard(" + pins + ")";
  }
  return out;
}

}  // namespace

DrawnStrategy DrawStrategy(Draw &draw, const DrawnNetwork &network, int devices) {
  const Way &way = kWays[draw.UpTo(int(sizeof kWays / sizeof *kWays))];
  const char *meshes = way.meshes[devices == 2 ? 0 : devices == 4 ? 1 : 2];
  DrawnStrategy drawn = {way.name, std::string("strategy=") + way.strategy, network.text};
  const std::string mesh = meshes ? draw.Of(Alternatives(meshes)) : "";
  drawn.options += meshes ? " mesh=" + mesh : " devices=" + std::to_string(devices);
  if (way.more & kShards) drawn.text = WithShards(draw, drawn.text, AxesOf(mesh));
  return drawn;
}

}  // namespace dp_test
