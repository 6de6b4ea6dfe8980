"""Run every benchmark in its own process: `make bench`."""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run the benchmarks named on the command line, or all of them; return the worst exit code."""
    here = Path(__file__).parent
    names = sys.argv[1:] or sorted(path.stem for path in here.glob("bench_*.py"))
    return max(subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode for name in names)


if __name__ == "__main__":
    sys.exit(main())
