// The strategies, in the order of --help, one per line. Included with DP_STRATEGY defined. The first is the default.
DP_STRATEGY(single)
DP_STRATEGY(data)
DP_STRATEGY(zero)
DP_STRATEGY(tensor)
DP_STRATEGY(pipeline)
DP_STRATEGY(manual)
DP_STRATEGY(auto)
