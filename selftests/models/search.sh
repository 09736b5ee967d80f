#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# search.sh [MODEL...]: has spin look at every state that the models can get into. Then it
# takes out each barrier, re-check and order in turn, by defining the macro that a model
# has for that:
#   NO_...     without it there must be the error that the head of the model tells: the text
#              of the assertion, or its beginning and "...", or "invalid end state"
#   SPARE_...  without it there must be none: others do what it does; but not the very
#              states that there are with it, as then nothing was taken out. These are left out
#              unless SPARE, from the environment, is set: they take half of the time.
# Those of life.pml and word.pml are taken out in timeout.pml, and those of all files that are
# only included in models that name them. Take-outs are searched with fewer users (SMALL),
# where a model can do with that. spin ends at the first error, of whatever kind, so one
# that is not as told may come from a model that was broken. Prints TAP, and at the end how many
# states there were in all searches that went through everything.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")" || exit
# shellcheck source=selftests/harness/tap.sh
. ../harness/tap.sh
build=$(realpath ../..)/build/model

# What the models say that they mirror, as "NAME FILE MODEL"
mirrored() {
	awk '/^ \*\t/ {
		names = names " " $0
		if (!match($0, /(module|tools)\/[a-z_/]+\.[ch]$/))
			next
		file = substr($0, RSTART)
		while (match(names, /[a-z_]+\(\)/)) {
			print substr(names, RSTART, RLENGTH - 2), file, \
				substr(FILENAME, 3)
			names = substr(names, RSTART + RLENGTH)
		}
		names = ""
	}' ./*.pml
}

# A definition begins in the first column, and no semicolon ends its line.
defines() {
	grep -qE "^([a-z][^;]*[ *])?$2\([^;]*$" "$1"
}

# The functions are there, and their files name the models that mirror them.
check_names() {
	local name file model status=0 names=0

	while read -r name file model; do
		names=$((names + 1))
		defines "../../$file" "$name" && grep -qw "$model" "../../$file" && continue
		diagnose "$file: $name(), or the name of $model"
		status=1
	done < <(mirrored)
	[ $names -gt 0 ] || status=1
	verdict $status "the code has the $names functions that the models mirror, and names them"
}

# What a search may have: MB of memory, steps in a row, seconds of CPU time
memory=4200
depth=100000
limit=600

# The compiler's options for searches that go through everything, and for those that end
# early, most of them the earlier when of two choices the last one is made first
whole=-DMEMLIM=$memory
early="$whole -DT_REVERSE"

# search COMPILER_OPTIONS OPTION...: $model, in the folder $dir. The compiler does not optimize: gcc
# takes longer for most models than their searches do.
search() {
	local source=$PWD/$model.pml

	rm -rf "$dir"
	mkdir -p "$dir"
	# shellcheck disable=SC2086 # several options
	(
		cd "$dir" &&
		spin -a "${@:2}" "$source" >pan.log 2>&1 &&
		tcc -w -DSAFETY $1 -o pan pan.c >pan.log 2>&1 &&
		ulimit -t $limit &&
		./pan -m$depth -w24 >pan.log 2>&1
	)
}

# said EXPRESSION: the number that pan printed there
said() {
	sed -nE "s/^(.*[^0-9.e+])?([0-9.e+]+)$1.*/\\2/p" "$dir/pan.log" | head -n 1
}

# Many of them are printed as 1.5e+07.
states() {
	printf '%.0f' "$(said ' states, stored')"
}

figures() {
	echo "$model$title: depth $(sed -nE 's/.*depth reached ([0-9]+).*/\1/p' "$dir/pan.log")," \
		"$(said '[[:space:]]total actual memory') MB, $(said ' seconds') s"
}

finds_nothing() {
	grep -q 'errors: 0$' "$dir/pan.log" &&
		! grep -qE 'Search not completed|depth too small' "$dir/pan.log"
}

# The size of the search: two searches may have one number of states and other transitions.
counts() {
	echo "$(said ' states, stored') $(said ' transitions')"
}

finds_nothing_though_it_shows() {
	finds_nothing && [ -n "$base" ] && [ "$(counts)" != "$base" ]
}

# The assertion or property that was violated, if any
violated() {
	sed -nE 's/^pan:1: (assertion violated )?(.*) \(at depth [0-9]+\)$/\2/p' "$dir/pan.log" |
		head -n 1
}

# pan has its own spaces and parentheses.
bare() {
	tr -d ' ()'
}

finds_the_error() {
	local expected found

	expected=$(sed -n "s/^ \* $macro: //p" "$model.pml" | bare)
	found=$(violated | bare)
	[ -n "$found" ] && [ -n "$expected" ] || return
	if [ "${expected%...}" = "$expected" ]; then
		[ "$found" = "$expected" ]
	else
		[[ $found = "${expected%...}"* ]]
	fi
}

# What a search that went through everything never got to; processes that do not end apart
unreached() {
	sed -nE "s|^\t([^:]*:[0-9]+, state [0-9]+, .*)|\1|p" "$dir/pan.log" | grep -v -- -end-
}

# What they said, and the way to the error
explain() {
	local trail=$dir/$model.pml.trail

	tail -n 20 "$dir/pan.log"
	[ ! -e "$trail" ] || spin -t -p -k "$trail" "$@" "$model.pml" |
		grep -vE '\[(else|\(1\)|\.\(goto\)|IF|DO|break|sub-sequence)\]'
}

sum=0

# try EXPECTATION TITLE COMPILER_OPTIONS OPTION...: of $model
try() {
	local title=$2 status=0

	dir=$build/$model${title// /-}
	if ! search "${@:3}" || ! "$1"; then
		status=1
		explain "${@:4}" | sed 's/^/# /'
		[ "$(counts)" != "${base:-}" ] || diagnose "the same states as with it"
	fi
	if finds_nothing; then
		sum=$((sum + $(states)))
		diagnose "$model$title: $(unreached | wc -l) steps unreached"
	else
		diagnose "violated: $(violated)"
	fi
	diagnose "$(figures)"
	verdict $status "$model$title: spin ${1//_/ }, $(states) states"
}

# What the spare ones are compared with: $model as they find it, but with nothing taken out
search_base() {
	base=
	dir=$build/$model
	if grep -qw SMALL "$model.pml"; then
		dir+=-small
		search "$whole" -DSMALL
		diagnose "$model with fewer users: $(states) states, $(said ' seconds') s"
	fi
	! finds_nothing || base=$(counts)
}

# macros PREFIX: what may be taken out of $model
macros() {
	local files=("$model.pml")

	[ "$model" != timeout ] || files+=(life.pml word.pml)
	grep -ohwE "$1_[A-Z_]+" "${files[@]}" | sort -u
}

takeouts() {
	local macro base=

	for macro in $(macros NO); do
		try finds_the_error " without ${macro#NO_}" "$early" -DSMALL "-D$macro"
	done
	[ -n "${SPARE-}" ] && [ -n "$(macros SPARE)" ] || return 0
	search_base
	for macro in $(macros SPARE); do
		try finds_nothing_though_it_shows " without the spare ${macro#SPARE_}" "$whole" \
			-DSMALL "-D$macro"
	done
}

[ $# -gt 0 ] || set -- sleep timeout nested again stop rearm within work flush \
	lists source edges limit mapped stalled reap stale set shutdown close chain held

echo "TAP version 13"
check_names
for model; do
	try finds_nothing "" "$whole"
	takeouts
done
diagnose "states=$sum"
tap_end
