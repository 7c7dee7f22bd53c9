"""A folder of machine code for GPUs, of the functions that plans of some models need."""

def _cuda_code(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    programs = [ctx.file.dpc, ctx.file.dprun]
    ctx.actions.run_shell(
        outputs = [folder],
        inputs = depset(
            programs + [ctx.file.script] + ctx.files.models,
            transitive = [ctx.attr.toolkit[CcInfo].compilation_context.headers],
        ),
        command = " ".join(
            [ctx.file.script.path, programs[0].path, programs[1].path, folder.path, ",".join(ctx.attr.kinds)] +
            [model.path for model in ctx.files.models],
        ),
        mnemonic = "CudaCode",
        progress_message = "Compiling functions for GPUs",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

# Empty without NVRTC, and made again when the toolkit changes. The programs are no tools, for which they would be built a second time.
cuda_code = rule(
    implementation = _cuda_code,
    attrs = {
        "models": attr.label_list(allow_files = True, mandatory = True),
        "kinds": attr.string_list(default = ["sm_80", "sm_90", "sm_100", "sm_120"]),
        "dpc": attr.label(default = "//tools:dpc", allow_single_file = True),
        "dprun": attr.label(default = "//tools:dprun", allow_single_file = True),
        "toolkit": attr.label(default = "@cuda//:headers", providers = [CcInfo]),
        "script": attr.label(default = "//tools:cuda_code.sh", allow_single_file = True),
    },
)
