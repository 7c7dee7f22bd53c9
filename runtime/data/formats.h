// The formats of data files, in the order in which they are asked. Included with DP_DATA_FORMAT defined.

// What has no magic is asked for by its part.
DP_DATA_FORMAT(tokens)
DP_DATA_FORMAT(cifar)
DP_DATA_FORMAT(folder)
DP_DATA_FORMAT(npz)
DP_DATA_FORMAT(npy)
DP_DATA_FORMAT(tar)
DP_DATA_FORMAT(idx)
DP_DATA_FORMAT(csv)
