// The strategies, in the order of --help: a line each. Included with DP_STRATEGY defined. The first is taken when
// nothing is asked for.
DP_STRATEGY(single)
DP_STRATEGY(data)
DP_STRATEGY(zero)
DP_STRATEGY(tensor)
DP_STRATEGY(pipeline)
DP_STRATEGY(manual)
DP_STRATEGY(auto)
