"""A header that compilers read in parsed form: precompiled_header(name, header, deps).

Compiling GoogleTest's and the standard library's headers takes most of a test's build, in every configuration. Made by
the same compiler with the same flags as what includes it first; where it does not fit, compilers read the header itself.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context

    # Beside the parsed form, and apart from the source, which compilers would find first.
    header = ctx.actions.declare_file("precompiled/" + ctx.file.header.basename)
    parsed = ctx.actions.declare_file("precompiled/" + ctx.file.header.basename + ".gch")
    ctx.actions.symlink(output = header, target_file = ctx.file.header)
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = parsed.path,
        include_directories = deps.includes,
        quote_include_directories = deps.quote_includes,
        system_include_directories = deps.system_includes,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + ["-x", "c++-header"],
        use_pic = True,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = "c++-compile"),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = "c++-compile",
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = "c++-compile",
            variables = variables,
        ),
        inputs = depset([header], transitive = [deps.headers, toolchain.all_files]),
        outputs = [parsed],
        mnemonic = "CppPrecompiledHeader",
    )
    context = cc_common.create_compilation_context(headers = depset([header, parsed]))
    return [DefaultInfo(files = depset([header, parsed])), CcInfo(compilation_context = context)]

precompiled_header = rule(
    implementation = _precompiled_header,
    attrs = {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "_cc_toolchain": attr.label(default = Label("@bazel_tools//tools/cpp:current_cc_toolchain")),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
