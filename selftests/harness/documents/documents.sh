#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# documents.sh KVER MODULE DEST OUT: what the documents have people do works. Commands and C
# programs run in a VM with MODULE; the programs are built with what make install has left in
# DEST. OUT keeps what the VM left. What other tests run is counted as skipped. Prints TAP.
#
# documents.sh tree GROUP: runs the blocks of that group, in order, on this machine, which
# is to be thrown away afterwards. The commands are told that the kernel runs whose headers
# are here, and apt that the answer is yes. Blocks of the README and of doc/install.md run in the
# project, others in an empty folder.
set -uo pipefail
shopt -s extglob

cd "$(dirname "$(realpath "$0")")/../../.." || exit
# shellcheck source=selftests/harness/messages.sh
. selftests/harness/messages.sh
project=$PWD
# The module is loaded first.
documents=(doc/install.md README.md CONTRIBUTING.md doc/!(install).md)
blocks=$(mktemp -d)
work=$(mktemp -d)
trap 'rm -rf "$blocks" "$work"' EXIT
trap 'exit 130' INT TERM
# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh

take() {
	python3 -B selftests/harness/documents/blocks.py "$blocks" "${documents[@]}"
}

# same_as BLOCK FILE
same_as() {
	diff "$1" <(tail -n +2 "$2")
}

# Static, as there is no libc in the VM
build() {
	gcc -static -O2 -Wall -Wextra -Werror "-I$dest/usr/include" "-I$dest/usr/local/include" \
		"$1" "$dest/usr/local/lib/libhwheel.a" -o "$2"
}

for_the_vm() {
	local block=$blocks/$1.$2 file=$1.$2

	if [ "$2" = c ]; then
		report "$3 is built" quietly build "$block" "$work/$1"
		file=$1
	else
		cp "$block" "$work/"
	fi
	echo "$file $3" >>"$work/list"
}

# place NUMBER LANGUAGE WHERE WORDS
place() {
	local words file

	case $4 in
	vm)       for_the_vm "$@" ;;
	"is "*)   words=${4#is } file=${words%%,*}
		  report "$3 is $file" quietly same_as "$blocks/$1.$2" "$file" ;;
	"tree "*) skip "$3" "make check-packages does it" ;;
	*)        skip "$3" "${4#none: }" ;;
	esac
}

boot() {
	tar -cf "$work/blocks.tar" -C "$work" --exclude=blocks.tar --exclude=output . &&
		selftests/harness/vm/run_vm.sh --kver "$kver" --out "$out" --quiet \
			--guest selftests/harness/documents/documents_guest.sh "$module" \
			"$dest/usr/local/bin/hwheelctl" "$work/blocks.tar" \
			selftests/harness/common.sh selftests/harness/tap.sh
}

# Of paths and DKMS's names
versions() {
	grep -ohE 'hwheel(-headers)?[-/][0-9][0-9.]*[0-9]' "${documents[@]}" | sed 's/.*[-/]//' | sort -u
}

version_is_right() {
	diff <(versions) <(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' module/main.c)
}

# Those that are for people
targets() {
	sed -nE 's/^([a-z-]+):.*/\1/p' Makefile | sort -u
}

# Each line of make help has a target and tells what it does.
help_is_whole() {
	diff <(make help | awk 'NF > 3 { print $2 }' | sort) <(targets)
}

# The targets that a document names, also in passing
named() {
	grep -ohE '`(sudo )?make [a-z][a-z-]*' "${documents[@]}" | sed 's/.* //' | sort -u
}

targets_exist() {
	[ "$(named | wc -l)" -gt 10 ] && [ -z "$(comm -23 <(named) <(targets))" ] && return
	comm -23 <(named) <(targets)
	return 1
}

# make lint compares the JSON files with their pages. A link with a scheme leads out of the tree.
links() {
	grep -oE '\]\([^)#:]+:?' "$1" | sed 's/^](//' | grep -vE '^doc/.*\.json$|:$'
}

links_lead_somewhere() {
	local document link missing=0

	for document in "${documents[@]}"; do
		while read -r link; do
			[ -e "$(dirname "$document")/$link" ] || { echo "$document: $link"; missing=1; }
		done < <(links "$document")
	done
	return $missing
}

here() {
	local number language where words

	kver=$1 module=$2 dest=$3 out=$4
	echo "TAP version 13"
	report "each block says where it is tested" quietly take
	report "each target that is named exists" quietly targets_exist
	report "each link leads somewhere" quietly links_lead_somewhere
	report "make help has all targets" quietly help_is_whole
	report "the README is one page" [ "$(wc -l <README.md)" -le 200 ]
	report "the version is the module's" quietly version_is_right
	while read -r number language where words; do
		place "$number" "$language" "$where" "$words"
	done <"$blocks/list"
	report "the VM runs what is for it" quietly boot
	tap_end
}

# stand_in NAME COMMAND...: for a program that would ask the kernel that really runs
stand_in() {
	local name=$1

	shift
	printf '%s\n' '#!/bin/sh' "$*" >"$work/$name"
	chmod 755 "$work/$name"
}

stand_ins() {
	local folders=(/lib/modules/*) kver

	kver=${folders[0]##*/}
	stand_in sudo 'exec "$@"'
	stand_in uname "[ \"\$*\" = -r ] || exec /bin/uname \"\$@\"; echo $kver"
	stand_in modinfo "exec /sbin/modinfo -k $kver \"\$@\""
	printf '%s "%s";\n' APT::Get::Assume-Yes true APT::Install-Recommends false >"$work/apt.conf"
	export APT_CONFIG=$work/apt.conf
	export PATH=$work:$PATH USER=root
}

# run BLOCK WHERE WORDS: or leave it where the next ones find it
run() {
	local folder=$work/empty name

	[[ ${2%:*} != @(README|doc/install).md ]] || folder=$project
	case $3 in
	"is "*)   name=${3#is } name=${name%%,*}
		  cp "$1" "$folder/${name##*/}" ;;
	*" as "*) cp "$1" "$folder/${3##* }" ;;
	*)        (cd "$folder" && bash -exo pipefail "$1" </dev/null) ;;
	esac
}

# run_group GROUP: all of its blocks, of which there are some
run_group() {
	local number language where words found=0

	mkdir "$work/empty"
	while read -r number language where words; do
		[[ "$words " = *"tree $1 "* ]] || continue
		echo "== $where"
		run "$blocks/$number.$language" "$where" "$words" || return
		found=1
	done <"$blocks/list"
	[ $found -eq 1 ]
}

if [ "$1" = tree ]; then
	take && stand_ins && run_group "$2"
else
	here "$@"
fi
