"""What of arXiv 2606.20381 scales down, measured here: matrix products, depth, restricted grids, real tensors, and the whole record."""
