"""dequantize: codes and levels of a block to values by a profile of a recipe."""
