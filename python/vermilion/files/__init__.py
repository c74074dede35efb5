"""Files that are written whole or have one writer at a time, and JSON documents."""
