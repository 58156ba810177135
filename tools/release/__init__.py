"""What a release needs beside checks: papers, wheel and sdist, licences; `python -m tools.release` runs the whole ring."""
