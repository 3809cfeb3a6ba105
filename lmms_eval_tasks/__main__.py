"""`python -m lmms_eval_tasks ARGUMENTS`: lmms-eval with an exit code; also by `torchrun -m`, `accelerate launch -m`."""

import sys

from lmms_eval_tasks.calling import main

sys.exit(main())
