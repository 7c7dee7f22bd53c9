// Models to and from messages: nothing is lost, and a well-formed message that is not a legal model is refused.
#include "ir/file/proto.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ir/file/wire.h"
#include "ir/text/syntax.h"
#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using dp_test::Message;
using dp_test::Parse;
using dp_test::Print;

// Packs and unpacks, so that the message is as read from a file.
Dp__Model *OverTheWire(dp_arena *arena, const Dp__Model *message) {
  uint8_t *data;
  size_t bytes;
  ProtobufCMessage *result;
  EXPECT_EQ(Message(dp_wire_pack(arena, &message->base, "m", &data, &bytes)), "");
  EXPECT_EQ(Message(dp_wire_unpack(arena, &dp__model__descriptor, data, bytes, "m", &result)), "");
  return (Dp__Model *)result;
}

Dp__Model *FromText(dp_arena *arena, const std::string &text) {
  dp_model *model;
  EXPECT_EQ(Parse(arena, text, &model), "");
  return OverTheWire(arena, dp_proto_from_model(arena, model));
}

TEST(Proto, ModelsComeBackWhole) {
  for (std::string text :
       {std::string(dp_test::kSource), std::string("model \"\" {\n  opset 18\n}\n"),
        std::string("model m {\n  opset 7\n  symbol B\n  parameter w: float32[2,0] = tensor []\n  stored c: bool[2] = "
                    "tensor [1, 0]\n"
                    "  graph a {\n    input x: float32[3*B+1]\n    scalar dp.n: int64[]\n    persistent w = w\n"
                    "    output y = x\n    update c = c\n  }\n  graph b {\n  }\n}\n")}) {
    Arena arena;
    dp_model *model;
    ASSERT_EQ(Message(dp_proto_to_model(arena, FromText(arena, text), &model)), "");
    EXPECT_EQ(Print(model), text);
  }
}

TEST(Proto, ValuesAndNodesKeepTheirIds) {
  Arena arena;
  dp_model *model, *back;
  ASSERT_EQ(Parse(arena, dp_test::kSource, &model), "");
  ASSERT_EQ(Message(dp_proto_to_model(arena, OverTheWire(arena, dp_proto_from_model(arena, model)), &back)), "");
  const dp_graph *a = model->graphs[0], *b = back->graphs[0];
  ASSERT_EQ(a->n_values, b->n_values);
  ASSERT_EQ(a->n_nodes, b->n_nodes);
  for (int i = 0; i < a->n_values; i++) EXPECT_STREQ(a->values[i]->name, b->values[i]->name);
  for (int i = 0; i < a->n_nodes; i++) EXPECT_STREQ(a->nodes[i]->name, b->nodes[i]->name);
  EXPECT_EQ(b->nodes[2]->device, 1);
  EXPECT_EQ(b->nodes[2]->stage, 0);
}

TEST(Proto, AttributesOfEveryKindComeBack) {
  Arena arena;
  int count, back;
  dp_attr *attrs, *result;
  size_t n;
  Dp__Attribute **messages;
  ASSERT_EQ(
      Message(dp_text_parse_attrs(arena,
                                  "i=-3, f=0.1, s=\"text\", is=[1,2], fs=[0.5,nan], ss=[\"a\",\"\"], d=[N,2*N+3,7], "
                                  "t=int64[2] [1,2], e=[], z=0, zf=-0.0, es=\"\"",
                                  &count, &attrs)),
      "");
  dp_proto_from_attrs(arena, count, attrs, &n, &messages);
  ASSERT_EQ(Message(dp_proto_to_attrs(arena, n, messages, &back, &result)), "");
  ASSERT_EQ(back, count);
  for (int i = 0; i < count; i++) EXPECT_TRUE(dp_attr_equal(&attrs[i], &result[i])) << attrs[i].name;
}

TEST(Proto, PlansKeepHomes) {
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, dp_test::kDeviceForm, &model), "");
  for (int i = 0; i < model->n_variables; i++) {
    Dp__Variable *message = dp_proto_from_variable(arena, &model->variables[i], model->mesh.n_axes);
    dp_variable back;
    ASSERT_EQ(Message(dp_proto_to_variable(model, message, &model->mesh, &back)), "");
    EXPECT_EQ(back.offset, model->variables[i].offset);
    EXPECT_EQ(back.bytes, model->variables[i].bytes);
    for (int a = 0; a < 2; a++) EXPECT_TRUE(dp_placement_equal(back.placements[a], model->variables[i].placements[a]));
    EXPECT_NE(Message(dp_proto_to_variable(model, message, nullptr, &back)), "") << "a model's variable has no storage";
  }
  dp_mesh mesh;
  Dp__MeshAxis **axes = dp_proto_from_mesh(arena, &model->mesh);
  ASSERT_EQ(Message(dp_proto_to_mesh(2, axes, &mesh)), "");
  EXPECT_EQ(dp_mesh_devices(&mesh), 4);
  axes[0]->size = INT64_MAX;
  EXPECT_NE(Message(dp_proto_to_mesh(2, axes, &mesh)), "");
  axes[0]->size = 0;
  EXPECT_NE(Message(dp_proto_to_mesh(2, axes, &mesh)), "");
}

// ---- illegal models -------------------------------------------------------------------------------------------------

// Values: 0 x, 1 k, 2 w, 3 dp.n, 4 y, 5 z.
const char kSmall[] = R"dpt(model m {
  parameter w: float32[2] = fill(0)
  buffer v: float32[2] = tensor [1, 2]
  input x: float32[N,2]
  constant k: float32[2] = [3, 4]
  persistent w = w
  scalar dp.n: int64[]
  y = Add(x, w)
  z = Add(y, k)
  output z
  update w = k
})dpt";

struct Damage {
  const char *part;  // of the expected message
  std::function<void(Dp__Model *)> apply;
};

void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.part; }

class ProtoDamage : public testing::TestWithParam<Damage> {};

TEST_P(ProtoDamage, IsRefused) {
  Arena arena;
  Dp__Model *message = FromText(arena, kSmall);
  dp_model *model;
  ASSERT_EQ(Message(dp_proto_to_model(arena, message, &model)), "");
  GetParam().apply(message);
  std::string found = Message(dp_proto_to_model(arena, message, &model));
  EXPECT_NE(found.find(GetParam().part), std::string::npos) << found;
}

Dp__Graph *G(Dp__Model *m) { return m->graphs[0]; }
Dp__Value *V(Dp__Model *m, int i) { return G(m)->values[i]; }
Dp__Node *N(Dp__Model *m, int i) { return G(m)->nodes[i]; }
Dp__Variable *P(Dp__Model *m, int i) { return m->variables[i]; }
char *S(const char *text) { return const_cast<char *>(text); }

const Damage kModel[] = {
    {"version 0 of the model's form", [](Dp__Model *m) { m->version = 0; }},
    {"version 2 of the model's form", [](Dp__Model *m) { m->version = 2; }},
    {"opset -1", [](Dp__Model *m) { m->opset = -1; }},
    {"'2x' cannot stand for the batch", [](Dp__Model *m) { m->symbol = S("2x"); }},
    {"0 graphs", [](Dp__Model *m) { m->n_graphs = 0; }},
    {"two graphs are called 'main'",
     [](Dp__Model *m) {
       static Dp__Graph *both[2];
       both[0] = both[1] = m->graphs[0];
       m->graphs = both;
       m->n_graphs = 2;
     }},
    {"two variables are called 'w'", [](Dp__Model *m) { P(m, 1)->name = S("w"); }},
    {"variable '': its name is empty", [](Dp__Model *m) { P(m, 0)->name = S(""); }},
    {"kind 4 is unknown", [](Dp__Model *m) { P(m, 0)->kind = 4; }},
    {"the type is missing", [](Dp__Model *m) { P(m, 0)->type = nullptr; }},
    {"element type 8 is unknown", [](Dp__Model *m) { P(m, 0)->type->dtype = 8; }},
    {"element type 2147483647 is unknown", [](Dp__Model *m) { P(m, 0)->type->dtype = INT32_MAX; }},
    {"cannot depend on the batch", [](Dp__Model *m) { P(m, 0)->type->shape->dims[0]->scale = 1; }},
    {"an extent that is negative or too large",
     [](Dp__Model *m) { P(m, 0)->type->shape->dims[0]->offset = INT64_MIN; }},
    {"more elements than can be addressed",
     [](Dp__Model *m) { P(m, 0)->type->shape->dims[0]->offset = INT64_MAX / 16; }},
    {"its initial value is missing", [](Dp__Model *m) { P(m, 0)->initial = nullptr; }},
    {"kind 9 of its initial value", [](Dp__Model *m) { P(m, 0)->initial->kind = 9; }},
    {"(1, -1) is invalid",
     [](Dp__Model *m) {
       P(m, 0)->initial->kind = 2;
       P(m, 0)->initial->a = 1;
       P(m, 0)->initial->b = -1;
     }},
    {"its initial value has data, but", [](Dp__Model *m) { P(m, 1)->initial->kind = 1; }},
    {"the tensor is missing", [](Dp__Model *m) { P(m, 1)->initial->tensor = nullptr; }},
    {"has 7 bytes where its shape and type need 8", [](Dp__Model *m) { P(m, 1)->initial->tensor->raw.len = 7; }},
    {"was not loaded", [](Dp__Model *m) { P(m, 1)->initial->tensor->external = S("t"); }},
    {"it is float32[2] but its initial value is int32[2]",
     [](Dp__Model *m) { P(m, 1)->initial->tensor->dtype = DP_INT32; }},
    {"element 0 of a bool tensor",
     [](Dp__Model *m) {
       P(m, 1)->initial->tensor->dtype = P(m, 1)->type->dtype = DP_BOOL;
       P(m, 1)->initial->tensor->extents[0] = P(m, 1)->type->shape->dims[0]->offset = 8;
       memset(P(m, 1)->initial->tensor->raw.data, 2, 8);
     }},
    {"an address in memory", [](Dp__Model *m) { P(m, 0)->bytes = 8; }},
};
INSTANTIATE_TEST_SUITE_P(Model, ProtoDamage, testing::ValuesIn(kModel));

const Damage kGraph[] = {
    {"a graph has no name", [](Dp__Model *m) { G(m)->name = S(""); }},
    {"value 0 '': its name is empty", [](Dp__Model *m) { V(m, 0)->name = S(""); }},
    {"value 1 'x': another value has this name", [](Dp__Model *m) { V(m, 1)->name = S("x"); }},
    {"value 0 'v': a parameter or buffer has this name", [](Dp__Model *m) { V(m, 0)->name = S("v"); }},
    {"kind 5 is unknown", [](Dp__Model *m) { V(m, 0)->kind = 5; }},
    {"value 0 'x': the type is missing", [](Dp__Model *m) { V(m, 0)->type = nullptr; }},
    {"only a constant has data", [](Dp__Model *m) { V(m, 0)->constant = V(m, 1)->constant; }},
    {"value 1 'k': the tensor is missing", [](Dp__Model *m) { V(m, 1)->constant = nullptr; }},
    {"it is declared float32[3] but is float32[2]", [](Dp__Model *m) { V(m, 1)->type->shape->dims[0]->offset = 3; }},
    {"it is not a variable but names one", [](Dp__Model *m) { V(m, 0)->variable = 1; }},
    {"variable 2 of 2", [](Dp__Model *m) { V(m, 2)->variable = 2; }},
    {"there is no per-step scalar of this name", [](Dp__Model *m) { V(m, 3)->name = S("dp.m"); }},
    {"it is declared float64[] but is int64[]", [](Dp__Model *m) { V(m, 3)->type->dtype = DP_FLOAT64; }},
    {"node 0 '': its name is empty", [](Dp__Model *m) { N(m, 0)->name = S(""); }},
    {"node 1 'y': another node has this name", [](Dp__Model *m) { N(m, 1)->name = S("y"); }},
    {"there is no operator Ad", [](Dp__Model *m) { N(m, 0)->op = S("Ad"); }},
    {"there is no operator dp.Add", [](Dp__Model *m) { N(m, 0)->domain = S("dp"); }},
    {"device or stage is negative", [](Dp__Model *m) { N(m, 0)->device = -1; }},
    {"it names value 6 of 6", [](Dp__Model *m) { N(m, 0)->inputs[0] = 7; }},
    {"it names value 4294967294 of 6", [](Dp__Model *m) { N(m, 0)->outputs[0] = UINT32_MAX; }},
    {"it uses 'y' before it is computed", [](Dp__Model *m) { N(m, 0)->inputs[0] = 5; }},
    {"it uses 'z' before it is computed", [](Dp__Model *m) { N(m, 0)->inputs[0] = 6; }},
    {"'x' is not the result of a node", [](Dp__Model *m) { N(m, 0)->outputs[0] = 1; }},
    {"'y' is already a result of node 'y'", [](Dp__Model *m) { N(m, 1)->outputs[0] = 5; }},
    {"value 'z' has no producer", [](Dp__Model *m) { G(m)->n_nodes = 1; }},
    {"is missing", [](Dp__Model *m) { N(m, 0)->inputs[0] = 0; }},
    {"'z' is declared float64[N,2] but is float32[N,2]", [](Dp__Model *m) { V(m, 5)->type->dtype = DP_FLOAT64; }},
    {"output 'z' has no name, or names value 6 of 6", [](Dp__Model *m) { G(m)->outputs[0]->value = 6; }},
    {"output '' has no name", [](Dp__Model *m) { G(m)->outputs[0]->name = S(""); }},
    {"update 0 names variable 2 of 2", [](Dp__Model *m) { G(m)->updates[0]->variable = 2; }},
    {"update 0 names variable 0 of 2, value 99 of 6", [](Dp__Model *m) { G(m)->updates[0]->value = 99; }},
    {"'w' is float32[2] but its update 'x' is float32[N,2]", [](Dp__Model *m) { G(m)->updates[0]->value = 0; }},
};
INSTANTIATE_TEST_SUITE_P(Graph, ProtoDamage, testing::ValuesIn(kGraph));

TEST(ProtoAttributes, IllegalOnesAreRefused) {
  auto refuse = [](const std::function<void(Dp__Attribute *)> &damage) {
    Arena arena;
    int count;
    dp_attr *attrs;
    size_t n;
    Dp__Attribute **messages;
    EXPECT_EQ(Message(dp_text_parse_attrs(arena, "axis=1", &count, &attrs)), "");
    dp_proto_from_attrs(arena, count, attrs, &n, &messages);
    damage(messages[0]);
    return Message(dp_proto_to_attrs(arena, n, messages, &count, &attrs));
  };
  EXPECT_EQ(refuse([](Dp__Attribute *a) { a->kind = 0; }), "attribute 'axis': kind 0 is unknown");
  EXPECT_EQ(refuse([](Dp__Attribute *a) { a->kind = 9; }), "attribute 'axis': kind 9 is unknown");
  EXPECT_EQ(refuse([](Dp__Attribute *a) { a->name = S(""); }), "attribute '': its name is empty");
  EXPECT_EQ(refuse([](Dp__Attribute *a) { a->kind = 2; }),
            "attribute 'axis': its value is not of the kind 2 that it declares");
  EXPECT_EQ(refuse([](Dp__Attribute *a) {
              a->kind = 8;
              a->i = 0;
            }),
            "attribute 'axis': the tensor is missing");
}

TEST(ProtoPlacements, IllegalOnesAreRefused) {
  auto refuse = [](int32_t kind, uint32_t dim, int64_t outer, int64_t unit, int32_t reduction) {
    Dp__Placement message = DP__PLACEMENT__INIT;
    message.kind = kind;
    message.dim = dim;
    message.outer = outer;
    message.unit = unit;
    message.reduction = reduction;
    dp_placement placement;
    return Message(dp_proto_to_placement(&message, &placement));
  };
  EXPECT_EQ(refuse(0, 0, 0, 0, 0), "");
  EXPECT_EQ(refuse(1, 7, 1, 1, 0), "");
  EXPECT_EQ(refuse(2, 0, 0, 0, 1), "");
  EXPECT_NE(refuse(3, 0, 0, 0, 0), "");
  EXPECT_NE(refuse(-1, 0, 0, 0, 0), "");
  EXPECT_NE(refuse(0, 1, 0, 0, 0), "");
  EXPECT_NE(refuse(0, 0, 0, 0, 1), "");
  EXPECT_NE(refuse(1, 8, 1, 1, 0), "");
  EXPECT_NE(refuse(1, 0, 0, 1, 0), "");
  EXPECT_NE(refuse(1, 0, 1, -1, 0), "");
  EXPECT_NE(refuse(1, 0, 1, 1, 1), "");
  EXPECT_NE(refuse(2, 0, 0, 0, 2), "");
  EXPECT_NE(refuse(2, 0, 1, 1, 0), "");
}

}  // namespace
