// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>

#include "utf8.h"

size_t utf8_character(const unsigned char *text, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *text < 0x80 ? 1 : *text < 0xc0 ? 0 : *text < 0xe0 ? 2 :
			*text < 0xf0 ? 3 : *text < 0xf8 ? 4 : 0;
	uint32_t code = length < 2 ? *text : *text & (0x7fU >> length);

	if (!length || length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return code < 0x20 || code == 0x7f ? 0 : length;
}
