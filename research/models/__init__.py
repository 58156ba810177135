"""Whole models under 4-bit recipes: a sentence encoder and a small language model, each against itself in binary32."""
