// The strategies, one line of a table each: the options, the meshes, whether there are micro-batches, and the
// annotations.
#include <algorithm>
#include <sstream>

#include "tests/end_to_end/drawn.h"

namespace dp_test {
namespace {

// What is drawn besides the mesh: split parameters, the number of micro-batches, the schedule, stages of nodes.
enum { kShards = 1, kMicro = 2, kSchedule = 4, kStages = 8, kPipeline = kMicro | kSchedule };

const struct Way {
  const char *name, *strategy;
  const char *meshes[3];  // for 2, 4 and 8 devices, alternatives separated by '|'; NULL: --devices
  int more;
} kWays[] = {
    {"data", "data", {}, 0},
    {"zero 1", "zero zero-stage=1", {}, 0},
    {"zero 2", "zero zero-stage=2", {}, 0},
    {"zero 3", "zero zero-stage=3", {}, 0},
    {"tensor", "tensor", {}, 0},
    {"data x tensor",
     "tensor",
     {"data:2,tensor:1", "data:2,tensor:2|tensor:2,data:2", "data:2,tensor:4|data:4,tensor:2"},
     0},
    {"zero 1 x tensor",
     "zero zero-stage=1",
     {"tensor:2,data:1", "data:2,tensor:2", "data:4,tensor:2|tensor:4,data:2"},
     0},
    {"zero 3 x tensor",
     "zero zero-stage=3",
     {"data:2,tensor:1", "data:2,tensor:2", "data:2,tensor:4|data:4,tensor:2"},
     0},
    {"manual shard", "manual", {"tensor:2|a:2", "tensor:4|a:2,b:2", "tensor:8|a:2,b:4|a:2,b:2,c:2"}, kShards},
    {"data x manual shard", "data", {"data:2,a:1", "data:2,a:2", "data:2,a:4|a:2,data:2,b:2"}, kShards},
    {"data, micro", "data", {}, kMicro},
    {"zero, micro", "zero zero-stage=1", {}, kMicro},
    {"zero 3, micro", "zero zero-stage=3", {}, kMicro},
    {"tensor, micro", "tensor", {}, kMicro},
    {"data x tensor, micro", "tensor", {"data:2,tensor:1", "data:2,tensor:2", "tensor:2,data:4"}, kMicro},
    {"pipe gpipe", "pipeline schedule=gpipe", {}, kMicro},
    {"pipe 1f1b", "pipeline schedule=1f1b", {}, kMicro},
    {"data x pipe",
     "pipeline",
     {"pipe:2,data:1", "data:2,pipe:2|pipe:2,data:2", "data:2,pipe:4|pipe:2,data:4"},
     kPipeline},
    {"pipe x tensor",
     "pipeline",
     {"pipe:2,tensor:1", "pipe:2,tensor:2|tensor:2,pipe:2", "pipe:2,tensor:4|pipe:4,tensor:2"},
     kPipeline},
    {"data x pipe x tensor",
     "pipeline",
     {"data:1,pipe:2,tensor:1", "data:1,pipe:2,tensor:2", "data:2,pipe:2,tensor:2|tensor:2,pipe:2,data:2"},
     kPipeline},
    {"zero 1 x pipe",
     "zero zero-stage=1",
     {"data:1,pipe:2", "data:2,pipe:2|pipe:2,data:2", "data:4,pipe:2|data:2,pipe:4"},
     kPipeline},
    {"zero 2 x pipe x tensor",
     "zero zero-stage=2",
     {"data:1,pipe:2,tensor:1", "data:2,pipe:2", "data:2,pipe:2,tensor:2"},
     kPipeline},
    {"zero 3 x pipe",
     "zero zero-stage=3",
     {"pipe:2,data:1", "data:2,pipe:2|pipe:2,data:2", "data:4,pipe:2|data:2,pipe:4"},
     kPipeline},
    {"manual stage", "manual", {"pipe:2", "pipe:4|pipe:3", "pipe:8|pipe:5"}, kPipeline | kStages},
    {"manual stage, shard",
     "manual",
     {"pipe:2,a:1", "pipe:2,a:2|a:2,pipe:2", "pipe:2,a:4|pipe:2,a:2,b:2"},
     kPipeline | kStages | kShards},
};

std::vector<std::string> Alternatives(const char *meshes) {
  std::vector<std::string> all;
  std::istringstream in(meshes);
  for (std::string one; std::getline(in, one, '|');) all.push_back(one);
  return all;
}

// The axes of a mesh that parameters are split over.
std::vector<std::string> AxesOf(const std::string &mesh) {
  std::vector<std::string> axes;
  std::istringstream in(mesh);
  for (std::string axis; std::getline(in, axis, ',');)
    if (axis.rfind("data:", 0) != 0 && axis.rfind("pipe:", 0) != 0) axes.push_back(axis.substr(0, axis.find(':')));
  return axes;
}

// Splits some parameters, one in two on each axis. A dim of one element is not split, because its rule refuses that.
std::string WithShards(Draw &draw, const std::string &text, const std::vector<std::string> &axes) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line); out += line + "\n") {
    if (line.rfind("  parameter ", 0) != 0) continue;
    std::string constraints;
    std::vector<int> extents;
    std::istringstream shape(line.substr(line.find('[') + 1));
    for (int extent; shape >> extent; shape.ignore()) extents.push_back(extent);
    for (const std::string &axis : axes) {
      const int dim = draw.UpTo(int(extents.size()));
      if (extents[size_t(dim)] > 1 && draw.OneIn(2))
        constraints += (constraints.empty() ? "" : ", ") + axis + "=" + std::to_string(dim);
    }
    if (!constraints.empty()) line += " shard(" + constraints + ")";
  }
  return out;
}

// Puts some nodes on stages: in ascending order along the text, or in any order if there is a single micro-batch.
// alone: pipe is the only axis, so stages are devices.
std::string WithStages(Draw &draw, const std::string &text, int stages, bool rising, bool alone) {
  const char *const note = alone && draw.OneIn(2) ? "device" : "stage";
  int nodes = 0, node = 0;
  std::string out;
  for (bool counts : {true, false}) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      const bool is_node = line.find(" = ") != std::string::npos && line.find(": ") == std::string::npos;
      if (counts) {
        nodes += is_node;
        continue;
      }
      if (is_node && !draw.OneIn(3)) {
        const int stage = rising ? node * stages / nodes : draw.UpTo(stages);
        line += std::string(" [") + note + "=" + std::to_string(stage) + "]";
      }
      node += is_node;
      out += line + "\n";
    }
  }
  return out;
}

int Size(const std::string &mesh, const std::string &axis) {
  const size_t at = mesh.find(axis + ":");
  return at == std::string::npos ? 1 : std::stoi(mesh.substr(at + axis.size() + 1));
}

}  // namespace

DrawnStrategy DrawStrategy(Draw &draw, const DrawnNetwork &network, int devices) {
  const Way &way = kWays[draw.UpTo(int(sizeof kWays / sizeof *kWays))];
  const char *meshes = way.meshes[devices == 2 ? 0 : devices == 4 ? 1 : 2];
  DrawnStrategy drawn = {way.name, std::string("strategy=") + way.strategy, network.text};
  const std::string mesh = meshes ? draw.Of(Alternatives(meshes)) : "";
  drawn.options += meshes ? " mesh=" + mesh : " devices=" + std::to_string(devices);
  if (way.more & kShards) drawn.text = WithShards(draw, drawn.text, AxesOf(mesh));
  const bool rising = !draw.OneIn(4);
  if (way.more & kStages) drawn.text = WithStages(draw, drawn.text, Size(mesh, "pipe"), rising, AxesOf(mesh).empty());
  // Includes as many micro-batches as samples, and more. Stages that go back allow only one micro-batch, which dpc
  // chooses by itself.
  const int batch = int(network.batches[0]), count = draw.Of<int>({1, 2, 2, 3, 4, 4, 5, 8, batch, batch + 3});
  if ((way.more & kMicro) && (rising || !(way.more & kStages)) && !draw.OneIn(6))
    drawn.options += " microbatches=" + std::to_string(count);
  if (way.more & kSchedule) drawn.options += draw.OneIn(2) ? " schedule=gpipe" : " schedule=1f1b";
  return drawn;
}

}  // namespace dp_test
