"""Training by forks: BF16 runs continued for a few steps under each training recipe, and what that costs against BF16 continued alike."""
