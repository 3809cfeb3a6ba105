"""spotdiff's benchmarks as lmms-eval tasks: every `*.yaml` file below this folder is a task or a group of tasks."""

import _spotdiff_hook

# Python reads no .pth file in a folder that is merely on PYTHONPATH; there lmms-eval finds us by the entry point.
_spotdiff_hook.arm()
