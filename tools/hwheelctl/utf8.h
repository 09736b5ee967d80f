/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>

/*
 * The length of the character at @text, of which @left bytes are there, or 0 if that is not UTF-8,
 * or a control character; overlong forms are not UTF-8.
 */
size_t utf8_character(const unsigned char *text, size_t left);

#endif /* UTF8_H */
