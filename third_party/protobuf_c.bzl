"""protobuf_c_library: C code of .proto files, by protoc-c.

`protobuf_c_library(name = "plan_pb", srcs = ["model.proto", "plan.proto"])` makes `model.pb-c.h` and `plan.pb-c.h`,
included as "ir/plan.pb-c.h" for a BUILD file in ir/. The .proto files import one another by path from the top.
"""

def protobuf_c_library(name, srcs, **kwargs):
    stems = [src[:-len(".proto")] for src in srcs]
    headers = [stem + ".pb-c.h" for stem in stems]
    sources = [stem + ".pb-c.c" for stem in stems]
    native.genrule(
        name = name + "_gen",
        srcs = srcs,
        outs = headers + sources,
        cmd = "protoc-c --c_out=$(BINDIR) -I. $(SRCS)",
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        deps = ["@protobuf_c"],
        **kwargs
    )
