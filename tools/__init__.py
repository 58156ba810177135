"""What the repository needs and users of the package do not. Run from the clone: `python -m tools.docs check`.

The installed package is what runs: the clone goes to the end of the path, so that `import emu` does not find the checkout in front of it.
"""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [*(place for place in sys.path if Path(place).resolve() != _ROOT), str(_ROOT)]
