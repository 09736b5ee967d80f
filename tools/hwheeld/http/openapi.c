// SPDX-License-Identifier: GPL-2.0-only
#include "http/answer.h"
#include "http/show.h"

/* The description of all of this, which is installed as well */
__asm__(".section .rodata\n"
	"openapi_begin: .incbin \"http/openapi.json\"\n"
	"openapi_end:\n"
	".previous");

void show_openapi(struct request *request)
{
	answer_constant(request, "application/json", openapi_begin,
			(size_t)(openapi_end - openapi_begin));
}
