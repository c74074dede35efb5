"""Drivers of the controller: routers, clocks, searches and the journal."""
