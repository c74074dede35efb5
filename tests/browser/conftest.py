"""Tests in a real browser: ``make test-browser``. They use the helpers of the other tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
