// The passes, in the order in which they run: a line each. Included with DP_PASS defined.

// The source model. Precision comes before anything is built, so that what is built has the right types.
DP_PASS(options)
DP_PASS(batch)
DP_PASS(precision)
DP_PASS(loss)
// On the source's nodes, as whatever is made of one follows it.
DP_PASS(partition)
// The logical training graph.
DP_PASS(programs)
DP_PASS(autodiff)
DP_PASS(optimizer)
// Folding first: what it computes can be merged, and what only the folded used is dead then.
DP_PASS(fold)
DP_PASS(cse)
DP_PASS(dce)
// Only constants that survived are stored, and only then is it known what needs a first value.
DP_PASS(constants)
DP_PASS(init)
// Everything that is computed is there, and stands in one place of the pipeline.
DP_PASS(stages)
// Device form: where, in which order, by which kernel, in which bytes.
DP_PASS(strategy)
DP_PASS(place)
DP_PASS(unroll)
DP_PASS(roles)
DP_PASS(bucket)
DP_PASS(streams)
DP_PASS(kernels)
DP_PASS(memory)
DP_PASS(emit)
