/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ARRAY_H
#define ARRAY_H

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#endif /* ARRAY_H */
