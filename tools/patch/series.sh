#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# series.sh KSRC OUT: leaves in OUT a patch series that puts hwheel into the kernel tree KSRC, as
# one would send it: the driver, its KUnit tests, the kselftests, and the documentation with an
# entry of MAINTAINERS. Only the files that the series touches are copied from KSRC, which stays
# as it is: their repository is OUT/tree. Author and sign-off are those of git. checkpatch looks at
# each patch.
set -euo pipefail

ksrc=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
top=$here/../..
work=$out/tree
# shellcheck source=selftests/harness/messages.sh
. "$top/selftests/harness/messages.sh"

driver=drivers/misc/hwheel
tests=tools/testing/selftests/hwheel
touched=(drivers/misc/Kconfig drivers/misc/Makefile MAINTAINERS
	 tools/testing/selftests/Makefile Documentation/core-api/index.rst
	 Documentation/userspace-api/ioctl/ioctl-number.rst)

unsigned="git has no user.name or no user.email, by which the patches are signed off"
name=$(git config user.name) || die "$unsigned"
email=$(git config user.email) || die "$unsigned"

# commit SUBJECT: the body comes from stdin
commit() {
	git add -A
	{ printf '%s\n\n' "$1"; cat; } |
		git -c user.name="$name" -c user.email="$email" -c commit.gpgsign=false \
			-c core.hooksPath=/dev/null commit -q -s -F -
}

# A tree that make kunit has used has lines of hwheel's; $(HWHEEL_JOB) is make's.
begin() {
	rm -rf "$work"
	git init -q "$work"
	cd "$work"
	(cd "$ksrc" && cp --parents "${touched[@]}" "$work") ||
		die "$ksrc is no whole kernel tree"
	# shellcheck disable=SC2016
	sed -i '/drivers\/misc\/hwheel/d; /hwheel\$(HWHEEL_JOB)/d' "${touched[@]}"
	commit base </dev/null
}

# before FILE PATTERN [KEY]: puts what comes from stdin before the first line that matches and, if
# there is a KEY, comes after that in the alphabet.
before() {
	local line

	line=$(grep -nE -- "$2" "$1" | awk -v key="${3-}" -F : '
		{ number = $1; sub(/^[0-9]*:/, ""); if ($0 > key) { print number; exit } }') || true
	[ -n "$line" ] || die "no place for hwheel in $1"
	sed -i "$((line - 1))r /dev/stdin" "$1"
}

# Files as they are in this kernel: there is no need for what older ones lack. The end of a comment
# that names models goes, as these stay behind.
sources() {
	local folder=$1 to=$2 file

	(cd "$top/$folder" && find . -name '*.[ch]' ! -path './include/*') | while read -r file; do
		mkdir -p "$to/$(dirname "$file")"
		{ unifdef -DHAVE_VM_FLAGS_SET -DHAVE_WQ_BH "$top/$folder/$file" || [ $? -eq 1 ]; } |
			perl -0pe 's/(\n \*)?\n \* Models?: .*?(?=\n \*\/)//sg' >"$to/$file" || die "cannot convert $folder/$file"
	done
}

# Kbuild's lines, without those for a module outside of the tree
makefile() {
	# shellcheck disable=SC2016 # make's variables
	printf '# SPDX-License-Identifier: GPL-2.0-only\nobj-$(CONFIG_HWHEEL) += hwheel.o\n\n'
	grep '^hwheel-' "$top/Kbuild" | grep "$@" | sed 's|module/||'
	# shellcheck disable=SC2016
	printf '\nccflags-y := -I$(src)\n\n'
	printf '# trace/define_trace.h includes trace.h and file_trace.h again, by their names.\n'
	sed -n 's|module/||g; /^CFLAGS_/p' "$top/Kbuild"
}

add_driver() {
	sources module "$driver"
	install -D -m 644 -t include/linux "$top/module/include/linux/hwheel.h"
	install -D -m 644 -t include/uapi/linux "$top/module/include/uapi/linux/hwheel.h"
	sed '/^config HWHEEL_KUNIT_TEST/,$d' "$top/module/Kconfig" | sed '$d' >"$driver/Kconfig"
	makefile -v kunit/ >"$driver/Makefile"
	echo 'source "drivers/misc/hwheel/Kconfig"' | before drivers/misc/Kconfig '^endmenu'
	# shellcheck disable=SC2016 # make's variable
	echo 'obj-$(CONFIG_HWHEEL)		+= hwheel/' >>drivers/misc/Makefile
	printf '0xBD  00-0F  uapi/linux/hwheel.h\n' |
		before Documentation/userspace-api/ioctl/ioctl-number.rst '^0x' '0xBD'
	before MAINTAINERS '^HWPOISON MEMORY' <<-END
	HWHEEL TIMER
	M:	$name <$email>
	S:	Maintained
	F:	Documentation/core-api/hwheel.rst
	F:	$driver/
	F:	include/linux/hwheel.h
	F:	include/uapi/linux/hwheel.h
	F:	$tests/

	END
	purpose | commit "misc: add hwheel, a wheel for very many timeouts"
}

# Of the first patch, and of the cover letter
purpose() {
	cat <<-'END'
	Servers arm a timeout for each connection, request and heartbeat, and
	cancel nearly all of them. A wheel of hwheel takes them without a lock:
	callers change one state word and push the timeout on a list, from any
	context, and a kthread files those that are still pending when it wakes
	up. Deadlines hash into slots, as in Varghese and Lauck, SOSP 1987.

	Kernel code embeds struct hwheel_timeout and gets callbacks in process
	context. Programs use /dev/hwheel, which has batches, and memory that is
	shared with the worker, in which a timeout is armed without a system call.
	END
}

add_kunit() {
	sources kunit "$driver/kunit"
	cp "$top/module/Kconfig" "$driver/Kconfig"
	makefile . >"$driver/Makefile"
	commit "misc: hwheel: add KUnit tests" <<-'END'
	The tests state how timeouts, wheels and files behave, in simulated time:
	they are for a user-mode kernel with time travel.
	END
}

# Those that need nothing but the device
add_selftests() {
	mkdir -p $tests
	cp "$top"/selftests/abi/*.[ch] $tests
	rm $tests/uring_test.c
	cat >$tests/Makefile <<-'END'
	# SPDX-License-Identifier: GPL-2.0
	CFLAGS += -O2 -g -Wall $(KHDR_INCLUDES) -isystem ..
	LDLIBS += -lpthread

	TEST_GEN_PROGS := $(basename $(wildcard *_test.c))

	include ../lib.mk
	END
	printf 'CONFIG_HWHEEL=m\nCONFIG_USERFAULTFD=y\nCONFIG_TIME_NS=y\n' >$tests/config
	(cd $tests && printf '# SPDX-License-Identifier: GPL-2.0-only\n' &&
		basename -s .c ./*_test.c) >$tests/.gitignore
	echo 'TARGETS += hwheel' | before tools/testing/selftests/Makefile '^TARGETS \+= ' \
		'TARGETS += hwheel'
	commit "selftests/hwheel: test the device" <<-'END'
	The programs try each operation of /dev/hwheel, with hostile input, too.
	END
}

add_documentation() {
	local file

	{
		cat "$here/hwheel.rst"
		for file in $(cd $driver && grep -l EXPORT_SYMBOL_GPL engine/*.c); do
			printf '.. kernel-doc:: %s\n   :export:\n\n' "$driver/$file"
		done
	} | sed '$d' >Documentation/core-api/hwheel.rst
	printf '   hwheel\n' | before Documentation/core-api/index.rst '^   timekeeping'
	commit "Documentation: core-api: describe hwheel" <<-'END'
	The page renders the comments at the types and at the exported symbols.
	END
}

begin
add_driver
add_kunit
add_selftests
add_documentation
rm -f "$out"/*.patch
git format-patch -q --cover-letter -o "$out" HEAD~4
sed -i -e 's/\*\*\* SUBJECT HERE \*\*\*/hwheel: a wheel for very many timeouts/' \
	-e '/BLURB HERE/{r /dev/stdin' -e 'd}' "$out"/0000-* < <(purpose)
mv "$out"/0000-*.patch "$out/cover-letter"
# checkpatch wants tracepoints otherwise than the kernel lays them out. The first patch names in
# MAINTAINERS what the later ones add. That of a new kernel wants kzalloc_obj(), which 6.1 lacks.
perl "$ksrc/scripts/checkpatch.pl" --no-tree --quiet --no-summary --show-types \
	--ignore FILE_PATH_CHANGES,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,ALLOC_WITH_SIZEOF \
	"$out"/*.patch
say "patch: $(find "$out" -name '*.patch' | wc -l) patches are in $out"
