"""Decisions of the controller: its states and their transitions."""
