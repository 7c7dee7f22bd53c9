// ONNX's multi-device annotations as other programs write them: the resulting mesh and constraints, and refusals.
#include "tests/frontends/onnx_builder.h"

namespace {

struct Block {
  int64_t extent, shards;
};
struct Dim {
  int64_t axis;
  std::vector<Block> blocks;
};

// x [N,4] times w [4,6]; w is annotated.
class Devices : public testing::Test {
 protected:
  Devices() {
    m.Input("x", FLOAT, {"N", "4"});
    m.Initializer("w", {4, 6}, std::vector<float>(24, 1));
    node = m.Node("MatMul", {"x", "w"}, {"y"});
    m.Output("y");
    dp__onnx__device_configuration__init(&configuration);
    configuration.name = (char *)"c";
    configuration.has_num_devices = true;
    m.model->n_configuration = 1;
    m.model->configuration = &configurations;
    dp__onnx__node_device_configuration__init(&own);
    own.configuration_id = (char *)"c";
    node->n_device_configurations = 1;
    node->device_configurations = &owns;
  }

  // The sharding of `tensor`. A device list with several devices is a group.
  void Shard(const char *tensor, const std::vector<std::vector<int64_t>> &devices, const std::vector<Dim> &dims) {
    auto *spec = New(dp__onnx__sharding_spec__init);
    spec->tensor_name = dp_strdup(arena_, tensor);
    for (size_t s = 0; s < devices.size(); s++) {
      bool group = devices[s].size() > 1;
      Push(spec->device, spec->n_device, group ? 100 + (int64_t)s : devices[s][0]);
      if (!group) continue;
      auto *entry = New(dp__onnx__int_int_list_entry__init);
      entry->has_key = true;
      entry->key = 100 + (int64_t)s;
      for (int64_t d : devices[s]) Push(entry->value, entry->n_value, d);
      Push(spec->index_to_device_group_map, spec->n_index_to_device_group_map, entry);
    }
    for (const Dim &d : dims) {
      auto *dim = New(dp__onnx__sharded_dim__init);
      dim->has_axis = true;
      dim->axis = d.axis;
      for (const Block &b : d.blocks) {
        auto *block = New(dp__onnx__simple_sharded_dim__init);
        block->has_dim_value = block->has_num_shards = true;
        block->dim_value = b.extent;
        block->num_shards = b.shards;
        Push(dim->simple_sharding, dim->n_simple_sharding, block);
      }
      Push(spec->sharded_dim, spec->n_sharded_dim, dim);
    }
    Push(own.sharding_spec, own.n_sharding_spec, spec);
  }

  std::string Import(int devices) {
    configuration.num_devices = devices;
    return m.Import();
  }

  Onnx m;
  Dp__Onnx__Node *node;
  Dp__Onnx__DeviceConfiguration configuration, *configurations = &configuration;
  Dp__Onnx__NodeDeviceConfiguration own, *owns = &own;

 private:
  template <typename T>
  T *New(void (*init)(T *)) {
    T *message = (T *)dp_alloc(arena_, sizeof *message);
    init(message);
    return message;
  }
  template <typename T>
  void Push(T *&array, size_t &count, T item) {
    array = (T *)dp_grow(arena_, array, count, sizeof *array);
    array[count++] = item;
  }
  dp_test::Arena arena_;
};

bool Has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST_F(Devices, OneAxis) {
  Shard("w", {{0}, {1}, {2}}, {{-1, {{6, 3}}}});
  own.has_pipeline_stage = true;
  own.pipeline_stage = 2;
  std::string text = Import(3);
  EXPECT_TRUE(Has(text, "mesh tensor=3\n")) << text;
  EXPECT_TRUE(Has(text, "shard(tensor=1)\n")) << text;
  EXPECT_TRUE(Has(text, "stage=2]")) << text;
}

TEST_F(Devices, SeveralBlocksAreAFusedDim) {
  Shard("w", {{0}, {1}}, {{1, {{3, 1}, {2, 2}}}});
  std::string text = Import(2);
  EXPECT_TRUE(Has(text, "shard(tensor=S(1,3,1))\n")) << text;
}

TEST_F(Devices, TwoDims) {
  Shard("w", {{0}, {1}, {2}, {3}, {4}, {5}}, {{0, {{4, 2}}}, {1, {{6, 3}}}});
  std::string text = Import(6);
  EXPECT_TRUE(Has(text, "mesh data=2, tensor=3\n")) << text;
  EXPECT_TRUE(Has(text, "shard(data=0, tensor=1)\n") || Has(text, "shard(tensor=1, data=0)\n")) << text;
}

TEST_F(Devices, GroupsHoldCopies) {
  Shard("w", {{0, 2}, {1, 3}}, {{0, {{4, 2}}}});
  std::string text = Import(4);
  EXPECT_TRUE(Has(text, "mesh data=2, tensor=2\n")) << text;
  EXPECT_TRUE(Has(text, "shard(tensor=0)\n")) << text;
}

TEST_F(Devices, GroupsOfNeighbours) {
  Shard("w", {{0, 1}, {2, 3}}, {{0, {{4, 2}}}});
  EXPECT_TRUE(Has(Import(4), "shard(data=0)\n"));
}

TEST_F(Devices, OneDeviceIsTheNodes) {
  Shard("y", {{1}}, {});
  std::string text = Import(2);
  EXPECT_TRUE(Has(text, "device=1]")) << text;
}

TEST_F(Devices, ActivationsFollowTheParameters) {
  Shard("y", {{0}, {1}}, {{0, {{4, 2}}}});
  EXPECT_TRUE(Has(Import(2), "mesh tensor=2\n"));
}

TEST_F(Devices, WhatNoMeshHasIsRefused) {
  Shard("w", {{1}, {0}}, {{0, {{4, 2}}}});  // in the wrong order
  EXPECT_TRUE(Has(Import(2), "69: ")) << Import(2);
}

TEST_F(Devices, HostileOnesAreRefused) {
  EXPECT_TRUE(Has(Import(0), "69: configuration 'c' has 0 devices"));
  EXPECT_TRUE(Has(Import(-1), "69: "));
  EXPECT_TRUE(Has(Import(INT32_MAX), "69: "));
  Shard("w", {{0}, {0}}, {{0, {{4, 2}}}});
  EXPECT_TRUE(Has(Import(2), "69: "));
}

TEST_F(Devices, DevicesOutOfRange) {
  Shard("w", {{0}, {INT64_MAX}}, {{0, {{4, 2}}}});
  EXPECT_TRUE(Has(Import(2), "69: "));
}

TEST_F(Devices, ADimOutOfRange) {
  Shard("w", {{0}, {1}}, {{5, {{4, 2}}}});
  std::string text = Import(2);
  EXPECT_TRUE(Has(text, "65: ") || Has(text, "69: ")) << text;
}

TEST_F(Devices, ShardsOfNoDim) {
  Shard("w", {{0}, {1}}, {{0, {{INT64_MAX, 1}, {INT64_MAX, 1}, {4, 2}}}});
  EXPECT_TRUE(Has(Import(2), "69: "));
}

TEST_F(Devices, BlocksThatDoNotDivide) {
  Shard("w", {{0}, {1}}, {{1, {{4, 1}, {2, 2}}}});
  std::string text = Import(2);
  EXPECT_TRUE(Has(text, "65: ") || Has(text, "69: ")) << text;
}

}  // namespace
