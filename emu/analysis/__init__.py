"""Shrinkage of tensors on 4-bit grids: grids, densities, bias per bin, figures of tensors, regimes, scale codecs.

Source of the claims under test: arXiv 2606.20381. Not here: matrix products and depth (research.reproduction), training (research.train).
"""
