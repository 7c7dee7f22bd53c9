// The passes in the order in which they run, one per line. Included with DP_PASS defined.

// The source model. Precision comes before anything is built, so that everything built has the right types.
DP_PASS(options)
DP_PASS(batch)
DP_PASS(precision)
DP_PASS(normalize)
DP_PASS(loss)
// The loss too has nodes that compute in float32.
DP_PASS(mixed)
// On the source's nodes: whatever is derived from a node follows it.
DP_PASS(partition)
// The logical training graph.
DP_PASS(programs)
// Before gradients, so that they too are found.
DP_PASS(unbind)
DP_PASS(attention)
DP_PASS(transposed)
DP_PASS(autodiff)
DP_PASS(optimizer)
DP_PASS(narrow)
// Fold first: folded values can be merged, and nodes used only by folded ones become dead.
DP_PASS(fold)
DP_PASS(cse)
DP_PASS(batch_gradients)
DP_PASS(dce)
// Only constants that survive are stored, and only then is it known which variables need a first value.
DP_PASS(constants)
DP_PASS(init)
// All computation exists now; each node is assigned to one stage of the pipeline.
DP_PASS(stages)
// Device form: where, in which order, by which kernel, in which bytes.
DP_PASS(strategy)
DP_PASS(place)
DP_PASS(unroll)
DP_PASS(roles)
DP_PASS(recompute)
DP_PASS(offload)
// Before other regions take their members.
DP_PASS(heads)
DP_PASS(channels)
DP_PASS(projections)
DP_PASS(fuse)
DP_PASS(bucket)
DP_PASS(updates)
DP_PASS(casts)
DP_PASS(streams)
// Once it is known which instructions there are, and before their kernels are chosen by how operands lie.
DP_PASS(layout)
DP_PASS(kernels)
DP_PASS(memory)
DP_PASS(emit)
