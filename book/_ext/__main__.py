"""The commands of the build, such as ``python book/_ext notebooks 05``."""

import runpy
import sys

COMMANDS = {
    "notebooks": "outputs.notebooks",
    "pdf": "editions.pdf",
    "epub": "editions.epub",
    "lab": "editions.lab",
    "formula_font": "website.formula_font",
    "architecture": "editions.architecture",
}
"""The module of each, which is run in place of this one."""

if __name__ == "__main__":
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        sys.exit(f"the command must be one of {', '.join(COMMANDS)}, got {name!r}")
    runpy.run_module(COMMANDS[name], run_name="__main__", alter_sys=True)
