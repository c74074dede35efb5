"""The laboratory: evidence for what Vermilion's models say, beside papers, kernels and other tools.

It may use everything of ``vermilion``, which finds it by its entry points and never imports it.
"""
