/* SPDX-License-Identifier: GPL-2.0-only */
/* What hwheelctl shows when it is called alone: the module, the wheels, the open files. */
#ifndef STATE_H
#define STATE_H

/* Returns an exit code. */
int state_show(void);

#endif /* STATE_H */
