// SPDX-License-Identifier: GPL-2.0-only
#include "http/answer.h"
#include "http/show.h"
#include "memory.h"

/* The description of all of this, which is installed as well */
__asm__(".section .rodata\n"
	"openapi_begin: .incbin \"http/openapi.json\"\n"
	"openapi_end:\n"
	".previous");

void show_openapi(struct request *request)
{
	size_t length = (size_t)(openapi_end - openapi_begin);

	answer_text(request, MHD_HTTP_OK, "application/json", memory_copy(openapi_begin, length),
		    length);
}
