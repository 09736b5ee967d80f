#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# openapi_test.sh REDOCLY: is the description of the API well-formed, and as it should be? Prints TAP.
set -euo pipefail
here=$(dirname "$(realpath "$0")")

echo "TAP version 13"
if found=$(REDOCLY_TELEMETRY=off "$1" lint --format=stylish --max-problems=100 \
		"$here/../http/openapi.json" 2>&1) && ! grep -qi 'warning' <<<"$found"; then
	echo "ok 1 - redocly finds nothing in openapi.json"
else
	echo "not ok 1 - redocly finds nothing in openapi.json"
	echo "# ${found//$'\n'/$'\n'# }"
fi
echo "1..1"
