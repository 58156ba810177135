"""identify: which documented behaviour is this kernel? Variants, the inputs that tell them apart, staged decoding."""
