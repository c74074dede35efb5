"""Emulated links: real programs behind any of the queue disciplines.

A command runs in a network namespace whose only way out is a link with a queue, a rate and a delay:
:func:`vermilion.link.emulation.emulate`. Which link, :mod:`vermilion.link.plan` says.
"""
