"""quantize: tiles of numbers to codes and levels by a recipe; rules by which kernels are known to differ (axes_rules)."""
