"""The `vlmeval` command for launchers that want a module, such as `torchrun -m vlmeval_ext run ..`."""

import sys

from vlmeval_ext.command import main

sys.exit(main())
