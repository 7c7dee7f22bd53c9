"""protobuf_c_library: C code of .proto files, by protoc-c.

`protobuf_c_library(name = "proto", srcs = ["plan.proto"])` makes `plan.pb-c.h`, included as "ir/plan/plan.pb-c.h" for a
BUILD file in ir/plan/. The .proto files import one another by path from the top; `imports` names files of other packages that
they import, `deps` the libraries of these.
"""

def protobuf_c_library(name, srcs, imports = [], deps = [], **kwargs):
    stems = [src[:-len(".proto")] for src in srcs]
    headers = [stem + ".pb-c.h" for stem in stems]
    sources = [stem + ".pb-c.c" for stem in stems]
    native.genrule(
        name = name + "_gen",
        srcs = srcs + imports,
        outs = headers + sources,
        cmd = "protoc-c --c_out=$(BINDIR) -I. " + " ".join(["$(location %s)" % src for src in srcs]),
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        deps = deps + ["@protobuf_c"],
        **kwargs
    )
