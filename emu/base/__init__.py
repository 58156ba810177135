"""What every room stands on: errors, caches, locks that a fork leaves whole, counter-based random numbers, files that appear whole."""
