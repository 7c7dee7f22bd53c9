// A plan of one role and one program, "infer", over a mesh, to which a test can add anything.
#ifndef DP_TESTS_IR_VERIFY_SMALL_PLAN_H
#define DP_TESTS_IR_VERIFY_SMALL_PLAN_H

#include <stdexcept>

#include "ir/file/proto.h"
#include "tests/ir/verify/hand_plan.h"

namespace dp_test {

// Axes of these sizes, named a, b, c, d.
inline std::vector<dp_mesh_axis> Axes(const std::vector<int64_t> &sizes) {
  static const char *const names[] = {"a", "b", "c", "d"};
  std::vector<dp_mesh_axis> mesh;
  for (size_t a = 0; a < sizes.size(); a++) mesh.push_back({names[a], sizes[a]});
  return mesh;
}

class SmallPlan {
 public:
  enum { kHome = 1024 };  // bytes of a variable's storage; variables are whole on every device, one after another

  // The program belongs to the text's first graph.
  SmallPlan(const std::string &text, const std::vector<dp_mesh_axis> &mesh, int64_t batch, uint64_t bytes) {
    std::string message = Parse(arena, text, &model);
    if (!message.empty()) throw std::runtime_error(message);
    dp__plan__init(&plan);
    for (const dp_mesh_axis &axis : mesh) model->mesh.axes[model->mesh.n_axes++] = axis;
    model->batch = plan.batch = batch;
    plan.n_mesh = mesh.size();
    plan.mesh = dp_proto_from_mesh(arena, &model->mesh);
    plan.target = New(arena, dp__target__init);
    plan.target->backend = dp_strdup(arena, "cpu");
    for (int32_t i = 0; i < model->n_variables; i++) {
      model->variables[i].offset = static_cast<uint64_t>(i) * kHome;
      model->variables[i].bytes = kHome;
      Append(arena, &plan.n_variables, &plan.variables,
             dp_proto_from_variable(arena, &model->variables[i], model->mesh.n_axes));
    }
    Append(arena, &plan.n_graphs, &plan.graphs, dp_proto_from_graph(arena, model->graphs[0]));
    std::vector<Dp__AxisRange> ranges(mesh.size(), DP__AXIS_RANGE__INIT);
    for (size_t a = 0; a < mesh.size(); a++) ranges[a].count = mesh[a].size;
    std::vector<HandArena> arenas;
    for (Dp__Space space : {DP__SPACE__PERSISTENT, DP__SPACE__TRANSIENT, DP__SPACE__HOST_INPUT, DP__SPACE__HOST_OUTPUT})
      arenas.push_back({space, bytes});
    Dp__Role *role = AddRole(arena, &plan, "all", ranges, arenas);
    writer.reset(new ProgramWriter(arena, &plan, model->graphs[0], 0));
    writer->program->name = dp_strdup(arena, "infer");
    Append(arena, &role->n_programs, &role->programs, writer->program);
  }
  SmallPlan(const SmallPlan &) = delete;
  SmallPlan &operator=(const SmallPlan &) = delete;
  std::string Verify(std::string *message = nullptr, dp_verify_report *report = nullptr) {
    fit_.Fit(&plan);
    return dp_test::Verify(&plan, message, report);
  }

  Arena arena;
  dp_model *model = nullptr;
  Dp__Plan plan;
  std::unique_ptr<ProgramWriter> writer;

 private:
  ArenaFit fit_;
};

}  // namespace dp_test

#endif
