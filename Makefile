# SPDX-License-Identifier: GPL-2.0-only
#
# make help lists the targets. KVER (a kernel's version), KDIR (its build folder)
# and KSRC (an unpacked source) choose kernels; W=1, C=2 and the like reach kbuild.
# A target that needs something which is not on this machine has setup.sh get it,
# and calls make again with the kernel that was chosen.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory

SETUP   := selftests/harness/setup.sh
VM      := selftests/harness/vm/run_vm.sh
STEP    := selftests/harness/step.sh
UML     := selftests/harness/uml/run_uml.sh
# Prints a row from which doc/results.md is written
ROW     := python3 -B selftests/harness/row.py
COMMIT  := "$$(git describe --always --dirty --abbrev=12)"
# The kernel that was chosen, booted
BOOT     = $(if $(filter um,$(ARCH)),$(UML) --kdir $(KDIR) --smp 2,$(VM) --kver $(KVER))
BUILD   := $(CURDIR)/build
MODULE   = $(BUILD)/module-$(KVER)
TEST_MODULES = $(BUILD)/modules-$(KVER)
# Programs of another machine have a folder of their own.
TEST_PROGRAMS = $(BUILD)/selftests$(if $(SYSROOT),-$(ARCH))
VERSION  = $(or $(shell sed -n 's/^MODULE_VERSION("\(.*\)");$$/\1/p' module/main.c),\
	   $(error module/main.c has no MODULE_VERSION))

PREFIX  ?= /usr/local
DESTDIR ?=
ROOT     = $(DESTDIR)$(PREFIX)
INCLUDE  = $(DESTDIR)/usr/include/linux
LIBDIR  ?= $(PREFIX)/lib
LIB      = $(DESTDIR)$(LIBDIR)
SONAME   = libhwheel.so.$(firstword $(subst ., ,$(VERSION)))
MADE_PAGES = $(addprefix $(BUILD)/tools/man/,hwheel.4 hwheel.9 libhwheel.3)
PAGES    = $(wildcard tools/man/*.[1-9]) $(MADE_PAGES)
# Not hwheel-$(VERSION), where DKMS has its sources
DEVEL    = $(DESTDIR)/usr/src/hwheel-headers-$(VERSION)

PROGRAMS = $(BUILD)/tools/hwheelctl $(wildcard $(BUILD)/tools/demo/*)
EXAMPLES := $(notdir $(basename $(wildcard tools/examples/*.c)))
EXAMPLES := $(if $(wildcard /usr/include/uv.h),$(EXAMPLES),$(filter-out libuv,$(EXAMPLES)))
HWHEELD_TESTS := api_test wheel_test disk_test fuzz_test kill_test
# How often hwheeld-test kills the daemon, and a machine with it, and how many hostile requests
# it sends
KILLS_DAEMON ?= 100
POWER   ?= 5
# How long make chaos goes on, and the names of faults that it is to have, if not all
CHAOS_TIME = $(if $(filter file,$(origin TIME)),30m,$(TIME))
FAULTS  ?=
# NAME=VALUE for hwheeld-bench: rounds, ms, pending, lateness
BENCH_DURABLE ?=
REQUESTS ?= 1000
# An x86-64 kernel runs 32-bit programs, too.
TOOLS_32 := $(if $(filter x86_64-%,$(MAKE_HOST)),libhwheel_test_32)
TOOLS_TESTS := libhwheel_test $(TOOLS_32) mapped_test quantile_test hwheelctl_test top_test \
	       examples_test lockdown_test
# The folder that make shell mounts; none if it is empty
SHARE   ?= $(CURDIR)
# What make tools-test runs in its VM
ONLY    ?= $(TOOLS_TESTS)
TESTS   := $(basename $(notdir $(wildcard selftests/*/*_test.c)))
# selftests/Makefile builds the same as 32-bit programs. A user-mode kernel knows none, and
# other machines are tested with their own: for those setup.sh sets SYSROOT. (A user may have set
# ARCH for this machine.)
TESTS_32 := $(if $(QUICK),$(QUICK_32),$(filter-out uring_test,$(TESTS)))
TESTS   += $(if $(SYSROOT)$(filter um,$(ARCH)),,$(addsuffix _32,$(TESTS_32)))
HELPERS := client fuzz holders kill_midcall mapped_life populate reload_clients
# Those that run in a VM: the scripts in harness/ run here.
SCRIPTS := $(basename $(notdir $(wildcard selftests/module/*_test.sh selftests/stress/*_test.sh)))

# make check takes minutes: of the 32-bit programs it runs those that pass every structure;
# harness/quick_bounds has the bounds of the random tests. With QUICK empty, make selftests
# runs all programs, and each test has a bound of its own.
QUICK   ?=
QUICK_32 := input_test map_memory_test submit_test
QUICK_BOUNDS := selftests/harness/quick_bounds

# Random choices come from SEED, or from another seed each time. For make torture: calls of
# the device, and operations of the torture module. The others run in make selftests too,
# with less: how often the module is reloaded under fire, CPUs go away and processes are
# killed, and how many timeouts are pending on one wheel.
TORTURES := fuzz_test torture_test
FIRES    := unload_test hotplug_test kill_midcall_test populate_test
MATRIX   := cloud rt 6.12-cloud 6.12-rt newest native arm64 arm64-6.12 arm64-16k armhf i386 s390x \
	    kunit-i386 kunit-s390x
CALLS   ?= 200000
OPS     ?= 5000000
SEED    ?=
RELOADS ?= 30
OFFLINE ?= 50
KILLS   ?= 1000
PENDING ?= 10000000
# The name of the result
RUN     ?= torture
# How long make syzkaller runs, and the sanitizer of its kernel: kasan, or kcsan, whose reports of
# the kernel's own races must not end the machine
TIME    ?= 2h
FLAVOUR ?= kasan
SANITIZERS_kasan := KASAN, lockdep, UBSAN, debug objects
SANITIZERS_kcsan := KCSAN, lockdep
SYZKALLER_WORDS = $(if $(filter kcsan,$(FLAVOUR)),kcsan.early_enable=0,panic_on_warn=1)
# The faults of hwheel_wrong.ko that the kernel has to notice: all but data races, or these (--racy)
WRONG   ?= --wrong
# Seconds that make selftests may take, and a torture
TIMEOUT ?= 3600
TORTURE_TIMEOUT ?= 14400

.PHONY: module run shell check check-all kunit coverage coverage-all mutants selftests torture matrix soak faults
.PHONY: model litmus syzkaller bench kernel-page lint tools tools-test install
.PHONY: uninstall
.PHONY: patch check-patch deb check-packages java java-test java-bench hwheeld hwheeld-test hwheeld-bench durable
.PHONY: cluster-test _cluster_test cluster-bench _cluster_bench containers-test _containers_test
.PHONY: cluster _cluster chaos _chaos chaos-faults _chaos_faults
.PHONY: clean help python-test _python_test _demonstrate _open_shell shell-test
.PHONY: _hwheeld_test _hwheeld_bench _install_hwheeld _durable
.PHONY: _everything _build_everything _module _tools _tools_test _test_modules _test_programs _run _shell _harness
.PHONY: _vm_harness _wrong _coverage_all _syzkaller _model _litmus _selftests _torture
.PHONY: _java_test _java_netty_test _java_bench
.PHONY: _out_of_tree _vm_out_of_tree _readme _vm_readme _lint _install _install_module _install_tools _install_pages

module: ## build hwheel.ko for the running kernel (or KVER=, KDIR=)
	@vars=$$($(SETUP) module) && $(MAKE) _module $$vars
	@echo "Load it with insmod, or install it: sudo make install"

run: ## boot a VM and show what hwheel does there; build/run.json has the figures
	@vars=$$($(SETUP) vm tools) && $(MAKE) _run $$vars

shell: ## boot a VM with the module loaded and get a shell in it (SHARE=: a folder, the checkout)
	@vars=$$($(SETUP) $(if $(SHARE),shell,vm) tools) && $(MAKE) _shell $$vars

check: ## run every kind of test, in ten minutes; the last line is N passed, N failed, N skipped
	@$(SETUP) vm source programs tools tools_test kunit lint >/dev/null
	@MAKE="$(MAKE)" selftests/harness/check.sh quick

check-all: ## run every test, also in kernels that look for faults, and search the models
	@$(SETUP) vm source programs tools tools_test kunit lint model java hwheeld >/dev/null
	@MAKE="$(MAKE)" selftests/harness/check.sh all

kunit: ## run the KUnit tests in a user-mode kernel
	@kunit/run.sh

coverage: ## list the lines of module/ that the KUnit tests do not reach
	@vars=$$($(SETUP) source coverage) && \
		env $$vars selftests/harness/coverage.sh kunit

coverage-all: coverage ## list those that neither they nor the kselftests reach (TESTS=, SCRIPTS=)
	@vars=$$($(SETUP) gcov source programs) && $(MAKE) _coverage_all $$vars

mutants: ## put faults into the module, one at a time, and see which test notices
	@$(SETUP) native source programs kunit >/dev/null
	@python3 -B kunit/mutants

selftests: ## run the kselftest programs in a VM
	@vars=$$($(SETUP) vm source programs) && $(MAKE) _selftests $$vars

torture: ## test and call at random where KASAN, KCSAN and lockdep look (CALLS=, OPS=, KERNELS=)
	@MAKE="$(MAKE)" selftests/harness/matrix.sh $(or $(KERNELS),kasan kcsan)

matrix: ## run selftests and torture on many kernels and machines (KERNELS=, CALLS=, OPS=)
	@MAKE="$(MAKE)" selftests/harness/matrix.sh $(or $(KERNELS),$(MATRIX))

soak: ## account for very many timeouts in simulated time, with KUnit (SOAK=100000000)
	@MAKE="$(MAKE)" selftests/harness/matrix.sh kunit

faults: ## make each allocation and copy fail, in a kernel that can do that (builds it)
	@MAKE="$(MAKE)" selftests/harness/matrix.sh faults

syzkaller: ## call the device at random with syzkaller (TIME=2h, FLAVOUR=kcsan, SYZKALLER_SRC=)
	@vars=$$($(SETUP) syzkaller syzkaller_$(FLAVOUR)) && $(MAKE) _syzkaller $$vars

model: ## search the models of the engine with spin, whole and with each barrier taken out
	@MAKE="$(MAKE)" selftests/harness/matrix.sh model

litmus: ## judge the barriers by the kernel's memory model (with herd7, if there is one)
	@MAKE="$(MAKE)" selftests/harness/matrix.sh litmus

bench: ## measure hwheel and its peers; build/bench.json (T=rows, BASE=file.json: what has risen)
	@MAKE="$(MAKE)" BASE="$(BASE)" selftests/bench/bench.sh $(T)

kernel-page: ## put the comments at the exported symbols into tools/man/hwheel.9
	@vars=$$($(SETUP) source) && \
		selftests/harness/documents/kernel_page.py write "$${vars##*KSRC=}" tools/man/hwheel.9

lint: ## run the checkers over every file
	@vars=$$($(SETUP) vm source lint) && $(MAKE) _lint $$vars

tools: ## build libhwheel, hwheelctl, the demonstrations and examples
	@$(SETUP) tools
	@$(MAKE) _tools

tools-test: ## test libhwheel, hwheelctl and the examples in a VM (ONLY=: some of the tests)
	@vars=$$($(SETUP) vm source tools tools_test $(if $(TOOLS_32),programs)) && \
		$(MAKE) _tools_test $$vars

java: ## build Netty's timer on the kernel's wheel: build/java/hwheel.jar, libhwheel_jni.so
	@$(SETUP) java
	@$(MAKE) -C tools/java O=$(BUILD)/java

java-test: ## test that in a user-mode kernel, and with Netty's own test (NETTY_SRC=) in a VM
	@$(SETUP) java
	@status=0; \
	vars=$$($(SETUP) java_uml) && $(MAKE) _java_test $$vars || status=$$?; \
	vars=$$($(SETUP) vm java_netty) && $(MAKE) _java_netty_test $$vars || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/java.tap --part java $$status \
		$(JAVA_TESTS:%=$(BUILD)/java-run/%.tap) $(BUILD)/java-netty-run/netty.tap

java-bench: ## count what that costs beside Netty's own, in a VM; build/java-bench.json
	@$(SETUP) java
	@vars=$$($(SETUP) vm) && $(MAKE) _java_bench $$vars

hwheeld: ## build the daemon of durable timeouts
	@$(SETUP) hwheeld
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld

hwheeld-test: ## test the daemon of durable timeouts in a user-mode kernel (KILLS_DAEMON=, POWER=)
	@$(SETUP) uml source tools hwheeld >/dev/null
	@src=$$($(SETUP) source) && vars=$$(selftests/harness/uml/build_uml.sh smp test durable) && \
		$(MAKE) _hwheeld_test $$src $$vars

cluster-test: ## test hwheeld with three ZooKeeper servers on this machine (KILLS_DAEMON=)
	@$(SETUP) source tools hwheeld cluster >/dev/null
	@src=$$($(SETUP) source) && $(MAKE) _cluster_test $$src

cluster: ## put 10,000 timeouts into three nodes, each in a kernel of its own, and kill one half-way
	@$(SETUP) uml hwheeld cluster
	@vars=$$(selftests/harness/uml/build_uml.sh smp test durable cluster) && $(MAKE) _cluster $$vars

chaos: ## test such nodes while they and ZooKeeper fail (TIME=30m, SEED=, POWER=, FAULTS=)
	@$(SETUP) uml hwheeld cluster
	@vars=$$(selftests/harness/uml/build_uml.sh smp test durable cluster) && $(MAKE) _chaos $$vars

chaos-faults: ## put faults into hwheeld, one at a time, and see whether that finds them (FAULTS=: a glob)
	@$(SETUP) hwheeld cluster
	@$(MAKE) _chaos_faults

hwheeld-bench: ## measure the daemon beside Redis and a table; build/hwheeld-bench.json
	@$(SETUP) uml hwheeld hwheeld_bench
	@vars=$$(selftests/harness/uml/build_uml.sh smp test durable) && $(MAKE) _hwheeld_bench $$vars

cluster-bench: ## measure what bounds one ensemble; build/cluster-bench.json (BENCH_CLUSTER=)
	@$(SETUP) source tools hwheeld cluster cluster_bench >/dev/null
	@$(MAKE) _cluster_bench

durable: ## put 10,000 durable timeouts, restart the daemon half-way, and take them all
	@$(SETUP) uml hwheeld
	@vars=$$(selftests/harness/uml/build_uml.sh smp test durable) && $(MAKE) _durable $$vars

python-test: ## test the Python module in a user-mode kernel
	@$(SETUP) uml tools
	@vars=$$(selftests/harness/uml/build_uml.sh smp test durable) && $(MAKE) _python_test $$vars

containers-test: ## test what doc/containers.md says, with Debian's podman in a VM (downloads it)
	@vars=$$($(SETUP) vm tools packages) && $(MAKE) _containers_test $$vars

install: ## install module, headers, hwheelctl and libhwheel (DESTDIR=, PREFIX=)
	@vars=$$($(SETUP) module tools) && $(MAKE) _install $$vars

uninstall: ## remove what install put there, for all kernels (or KVER=)
	rm -f $(DESTDIR)/lib/modules/$(or $(KVER),*)/updates/hwheel.ko*
	rm -f $(INCLUDE)/hwheel.h $(ROOT)/bin/hwheelctl $(ROOT)/include/libhwheel.h
	rm -f $(LIB)/libhwheel.a $(LIB)/libhwheel.so $(LIB)/libhwheel.so.*
	[ ! -d $(ROOT)/share/man ] || \
		find $(ROOT)/share/man -type l -lname '*hwheel.[39]' -delete
	rm -f $(LIB)/pkgconfig/hwheel.pc $(addprefix $(ROOT)/share/man/man*/,$(notdir $(PAGES)))
	rm -f $(ROOT)/share/bash-completion/completions/hwheelctl
	rm -f $(ROOT)/sbin/hwheeld $(ROOT)/lib/systemd/system/hwheeld.service
	! cmp -s tools/config/hwheeld.conf $(DESTDIR)/etc/hwheeld.conf || rm $(DESTDIR)/etc/hwheeld.conf
	rm -f $(ROOT)/lib/udev/rules.d/60-hwheel.rules
	rm -rf $(DEVEL) $(ROOT)/share/doc/hwheel
	[ -n "$(DESTDIR)" ] || ldconfig
	[ -n "$(DESTDIR)" ] || for deps in /lib/modules/$(or $(KVER),*)/modules.dep; do \
		[ ! -e "$$deps" ] || depmod -a "$$(basename "$${deps%/*}")"; \
	done

# MACHINE=arm64, i386, armhf or s390x: as on such a machine
deb: ## build Debian packages; they are in build/deb (MACHINE=arm64: in build/deb-arm64)
	@$(SETUP) deb packages
	@selftests/harness/packages/build_packages.sh $(BUILD)/deb$(MACHINE:%=-%)

check-packages: deb ## try them in a clean Debian 12, from installing to purging (downloads one)
	@$(SETUP) vm packages >/dev/null
	@selftests/harness/packages/check_packages.sh $(BUILD)/deb$(MACHINE:%=-%) \
		$(BUILD)/packages$(MACHINE:%=-%) | tee $(BUILD)/packages$(MACHINE:%=-%).tap

# KSRC: default: the kernel source of the tests
patch: ## make a patch series that puts hwheel into a kernel tree (KSRC=); it is in build/patch
	@vars=$$($(SETUP) patch source) && \
		tools/patch/series.sh "$${vars##*KSRC=}" $(BUILD)/patch

check-patch: patch ## apply it to a copy of the tree and build it there, built in and as a module
	@vars=$$($(SETUP) patch source) && \
		tools/patch/build.sh "$${vars##*KSRC=}" $(BUILD)/patch \
			$(BUILD)/patch-build | tee $(BUILD)/patch.tap

clean: ## remove build/; the cache folder stays
	rm -rf $(BUILD)

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

# $(call mirror,FOLDER,PATH...): links to the sources, so that no object lands among
# them, nor those of several kernels in one place.
mirror = find $(2) -type d -printf '$(1)/%p\0' | xargs -0 mkdir -p $(1) && \
	 find $(2) \( -name Kbuild -o -name '*.[ch]' ! -name '*.mod.c' \) \
		-exec ln -sf $(CURDIR)/{} $(1)/{} \; && \
	 find $(1) -xtype l -delete

# The lanes of make check run side by side: this builds the things that both of them need.
_everything:
	@vars=$$($(SETUP) vm source programs tools) && $(MAKE) _build_everything $$vars

_build_everything: _test_modules _test_programs _tools

_module:
	@mkdir -p $(MODULE)
	@exec 9>$(MODULE).lock; flock 9; $(call mirror,$(MODULE),Kbuild module kunit) && \
		$(MAKE) -C $(KDIR) M=$(MODULE) modules
	@echo "hwheel.ko for $(KVER): $(MODULE)/hwheel.ko"

# kbuild does not look whether the symbols of another module have changed.
_test_modules: _module
	@mkdir -p $(TEST_MODULES)
	@exec 9>$(MODULE).lock; flock 9; \
		$(call mirror,$(TEST_MODULES),selftests module/include) && \
		rm -f $(TEST_MODULES)/selftests/Module.symvers && \
		$(MAKE) -C $(KDIR) M=$(TEST_MODULES)/selftests \
			KBUILD_EXTRA_SYMBOLS=$(MODULE)/Module.symvers modules

_tools:
	@$(MAKE) -C tools O=$(BUILD)/tools

# Beside what is in the VM: that the JSON is sound, and that what is installed can be used.
_tools_test: _module _tools
	@$(MAKE) -C tools O=$(BUILD)/tools tests $(TOOLS_32:%=$(BUILD)/tools/test/%) KSRC=$(KSRC)
	@tools/test/pack.sh $(BUILD)/tools/debian.tar tmux trace-cmd bpftrace setpriv
	@printf '%s\n' $(ONLY) >$(BUILD)/tools/only
	@status=0; \
	$(VM) --kver $(KVER) --mem 2048 --one-thread --out $(BUILD)/tools-run --timeout 1200 \
		--guest tools/test/tools_guest.sh $(MODULE)/hwheel.ko $(BUILD)/tools/hwheelctl \
		$(BUILD)/tools/libhwheel.so.$(VERSION) $(BUILD)/tools/debian.tar \
		$(foreach test,$(TOOLS_TESTS),$(or $(wildcard tools/test/$(test).sh),\
			$(BUILD)/tools/test/$(test))) \
		$(BUILD)/tools/test/first_shared $(BUILD)/tools/test/many_clients \
		$(BUILD)/tools/only \
		$(EXAMPLES:%=$(BUILD)/tools/examples/%) tools/examples/tracing.sh \
		selftests/harness/common.sh \
		selftests/harness/tap.sh || status=$$?; \
	[ -z "$(filter hwheelctl_test,$(ONLY))" ] || \
		python3 -B tools/test/json_test.py $(BUILD)/tools-run | \
		tee $(BUILD)/tools-run/json_test.tap || status=$$?; \
	MAKE="$(MAKE)" KVER=$(KVER) KDIR=$(KDIR) tools/test/install_test.sh \
		$(BUILD)/tools-installed | tee $(BUILD)/tools-run/install_test.tap || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/tools.tap --part tools $$status \
		$(patsubst %,$(BUILD)/tools-run/%.tap,$(ONLY) install_test \
			$(if $(filter hwheelctl_test,$(ONLY)),json_test))

JAVA     = $(BUILD)/java
JAVA_TESTS := without_module unprivileged Semantics Race Device Mapping Life Server shortage \
	      override cancelled rmmod
# One CPU: with two a user-mode kernel 7.3 showed a thread old memory at an address that another
# thread had replaced by mremap(), in about one of eight runs.
JAVA_RUN = $(UML) --kdir $(KDIR) --smp 1 --mem 2048 --quiet

_java_test: _module
	@$(MAKE) -C tools/java O=$(JAVA) tests
	@echo "Testing Netty's timer in a user-mode kernel, $(KVER)"
	@$(JAVA_RUN) --out $(BUILD)/java-run --timeout 900 --guest tools/java/test/test_guest.sh \
		$(MODULE)/hwheel.ko $(JAVA)/libhwheel_jni.so tools/java/jvm.sh \
		$(JAVA)/hwheel.jar $(JAVA)/hwheel-override.jar \
		$(JAVA)/hwheel-tests.jar $(JAVA)/cancelled-tests.jar

_java_netty_test: _module
	@$(MAKE) -C tools/java O=$(JAVA) netty-tests NETTY_SRC=$(NETTY_SRC)
	@echo "Running Netty's own test of its timer in a VM, $(KVER)"
	@$(VM) --kver $(KVER) --icount --mem 1536 --timeout 900 --quiet --out $(BUILD)/java-netty-run \
		--guest tools/java/test/netty_guest.sh $(MODULE)/hwheel.ko \
		$(JAVA)/libhwheel_jni.so $(JAVA)/hwheel.jar $(JAVA)/hwheel-override.jar \
		$(patsubst %,$(JAVA)/%-tests.jar,hwheel cancelled netty) $(JAVA)/jre.tar

# One VM, which counts instructions: the JVM that it runs comes with it.
_java_bench: _module
	@$(MAKE) -C tools/java O=$(JAVA) bench
	@rm -f $(BUILD)/java-bench.json
	@echo "Counting instructions of Netty's timer and this one in a VM"
	@$(VM) --kver $(KVER) --icount --mem 2560 --timeout 2400 --quiet --out $(BUILD)/java-bench-run \
		--guest tools/java/bench/bench_guest.sh $(MODULE)/hwheel.ko $(JAVA)/libhwheel_jni.so \
		$(JAVA)/hwheel.jar $(JAVA)/hwheel-bench.jar $(JAVA)/jre.tar
	@cat $(BUILD)/java-bench-run/{many,few}.json >$(BUILD)/java-bench.json
	@python3 -B selftests/bench/report.py show $(BUILD)/java-bench.json

HWHEELD_RUN = $(UML) --kdir $(KDIR) --smp 2 --append checkout=$(CURDIR) \
	      --guest tools/test/hwheeld/enter.sh

_hwheeld_test: _module
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld_tests $(BUILD)/tools/hwheelctl KSRC=$(KSRC)
	@mkdir -p $(BUILD)/hwheeld-in
	@echo "$(CURDIR)/tools/test/hwheeld/inside.sh $(BUILD)/tools/hwheeld" \
		"$(KILLS_DAEMON) $(REQUESTS) $(SEED)" \
		>$(BUILD)/hwheeld-in/inside
	@status=0; \
	for test in store_test alarm_test; do \
		$(BUILD)/tools/hwheeld/$$test >$(BUILD)/hwheeld-in/$$test.tap || status=$$?; \
	done; \
	$(HWHEELD_RUN) --out $(BUILD)/hwheeld-run \
		--timeout $$(($(TIMEOUT) + 5 * $(KILLS_DAEMON))) \
		$(MODULE)/hwheel.ko $(BUILD)/hwheeld-in/inside || status=$$?; \
	python3 -B tools/test/hwheeld/power_test.py $(KDIR)/linux $(MODULE)/hwheel.ko \
		$(BUILD)/tools/hwheeld/hwheeld $(BUILD)/hwheeld-power $(POWER) $(SEED) | \
		tee $(BUILD)/hwheeld-in/power_test.tap || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/hwheeld.tap --part hwheeld $$status \
		$(BUILD)/hwheeld-in/store_test.tap $(BUILD)/hwheeld-in/alarm_test.tap \
		$(BUILD)/hwheeld-in/power_test.tap \
		$(HWHEELD_TESTS:%=$(BUILD)/hwheeld-run/%.tap)

# On this machine, with a heap in place of the wheel
_cluster_test:
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld_tests KSRC=$(KSRC)
	@rm -rf $(BUILD)/cluster && mkdir -p $(BUILD)/cluster
	@status=0; \
	for test in rendezvous_test reckoning_test trail_test commit_test; do \
		$(BUILD)/tools/hwheeld/$$test >$(BUILD)/cluster/$$test.tap || status=$$?; \
	done; \
	python3 -B tools/test/hwheeld/cluster_test.py $(BUILD)/tools/hwheeld/hwheeld_heap \
		$(BUILD)/cluster/run $(KILLS_DAEMON) >$(BUILD)/cluster/cluster_test.tap || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/cluster.tap --part cluster $$status \
		$(BUILD)/cluster/rendezvous_test.tap $(BUILD)/cluster/reckoning_test.tap \
		$(BUILD)/cluster/trail_test.tap $(BUILD)/cluster/commit_test.tap \
		$(BUILD)/cluster/cluster_test.tap

_cluster: _module
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld
	@python3 -B tools/demo/cluster.py $(KDIR)/linux $(MODULE)/hwheel.ko \
		$(BUILD)/tools/hwheeld/hwheeld $(BUILD)/cluster-run

_chaos: _module
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld
	@status=0; \
	python3 -B tools/test/hwheeld/chaos.py $(BUILD)/chaos-run $(CHAOS_TIME) \
		$(BUILD)/tools/hwheeld/hwheeld --kernel $(KDIR)/linux --module $(MODULE)/hwheel.ko \
		$(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--only $(FAULTS)) | \
		tee $(BUILD)/chaos-run.tap || status=$$?; \
	$(ROW) "three nodes, $(KVER)" "" chaos $(COMMIT) $$SECONDS $$status \
		$(BUILD)/chaos-run.tap $(BUILD)/chaos-run.tap; \
	[ $(POWER) -eq 0 ] || python3 -B tools/test/hwheeld/chaos_sqlite.py $(BUILD)/chaos-sqlite \
		$(POWER) $(BUILD)/tools/hwheeld/hwheeld $(KDIR)/linux $(MODULE)/hwheel.ko $(SEED) | \
		tee $(BUILD)/chaos-sqlite.tap || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/chaos.tap --part chaos $$status \
		$(BUILD)/chaos-run.tap $(if $(filter-out 0,$(POWER)),$(BUILD)/chaos-sqlite.tap)

# Nodes are processes, with a heap in place of the wheel.
_chaos_faults:
	@$(MAKE) -C tools O=$(BUILD)/tools $(BUILD)/tools/hwheeld/hwheeld_heap
	@python3 -B tools/test/hwheeld/chaos_faults.py $(BUILD)/tools $(BUILD)/chaos-faults \
		$(if $(FAULTS),'$(FAULTS)') | tee $(BUILD)/chaos-faults.tap

_cluster_bench:
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld $(BUILD)/tools/hwheeld/hwheeld_heap
	@$(CC) -O2 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o $(BUILD)/tools/hwheeld/load \
		selftests/bench/durable/load.c -lsqlite3 -pthread
	@python3 -B selftests/bench/durable/cluster_bench.py $(BUILD)/tools/hwheeld/hwheeld_heap \
		$(BUILD)/tools/hwheeld/load $(BUILD)/cluster-bench $(BUILD)/cluster-bench.json \
		$(BENCH_CLUSTER)

# On this machine, with a heap in place of the wheel, what does not depend on the wheel; in a
# user-mode kernel, where system calls cost more, how late timeouts are, and the wake-ups.
_hwheeld_bench: _module
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld $(BUILD)/tools/hwheeld/hwheeld_heap
	@$(CC) -O2 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -o $(BUILD)/tools/hwheeld/load \
		selftests/bench/durable/load.c -lsqlite3 -pthread
	@python3 -B selftests/bench/durable/durable_bench.py $(BUILD)/tools/hwheeld/hwheeld_heap \
		$(BUILD)/tools/hwheeld/load $(BUILD)/hwheeld-bench $(BUILD)/hwheeld-bench.json \
		"wheel=a heap in its place" $(BENCH_DURABLE)
	@mkdir -p $(BUILD)/hwheeld-in/bench $(BUILD)/hwheeld-bench-data
	@echo "python3 -B $(CURDIR)/selftests/bench/durable/durable_bench.py" \
		"$(BUILD)/tools/hwheeld/hwheeld $(BUILD)/tools/hwheeld/load /tmp/bench" \
		"/tmp/results/hwheeld-bench-wheel.json 'wheel=of the module' rounds=0" \
		"data=$(BUILD)/hwheeld-bench-data" $(BENCH_DURABLE) \
		>$(BUILD)/hwheeld-in/bench/inside
	@$(HWHEELD_RUN) --mem 3072 --out $(BUILD)/hwheeld-bench-run --timeout 1200 \
		$(MODULE)/hwheel.ko $(BUILD)/hwheeld-in/bench/inside
	@cp $(BUILD)/hwheeld-bench-run/hwheeld-bench-wheel.json $(BUILD)
	@rm -rf $(BUILD)/hwheeld-bench-data

# With the files of this machine, among them python3
_python_test: _module
	@$(MAKE) -C tools O=$(BUILD)/tools $(BUILD)/tools/libhwheel.so.$(VERSION)
	@mkdir -p $(BUILD)/python
	@ln -sf ../tools/libhwheel.so.$(VERSION) $(BUILD)/python/$(SONAME)
	@printf '%s\n' "set -o pipefail; LD_LIBRARY_PATH=$(BUILD)/python" \
		"PYTHONPATH=$(CURDIR)/tools/python:$(CURDIR)/tools/python/example python3 -B" \
		"$(CURDIR)/tools/python/test/wheel_test.py | tee /tmp/results/wheel_test.tap" | \
		paste -sd ' ' >$(BUILD)/python/inside
	@status=0; \
	$(HWHEELD_RUN) --mem 512 --out $(BUILD)/python-run --timeout 300 \
		$(MODULE)/hwheel.ko $(BUILD)/python/inside || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/python.tap --part python $$status \
		$(BUILD)/python-run/wheel_test.tap

CONTAINED = $(BUILD)/tools/test/contained

_containers_test: _module _tools
	@$(MAKE) -C tools O=$(BUILD)/tools $(CONTAINED)
	@mkdir -p $(BUILD)/containers
	@tools/test/containers/podman.sh $(BUILD)/containers/podman.tar
	@status=0; \
	$(VM) --kver $(KVER) --mem 2048 --oom --out $(BUILD)/containers-run --timeout 1200 \
		--guest tools/test/containers/containers_guest.sh $(MODULE)/hwheel.ko \
		$(BUILD)/containers/podman.tar $(BUILD)/tools/hwheelctl $(CONTAINED) \
		tools/test/containers/containers_test.sh selftests/harness/common.sh \
		selftests/harness/tap.sh || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/containers.tap --part containers $$status \
		$(BUILD)/containers-run/containers_test.tap

_durable: _module
	@$(MAKE) -C tools O=$(BUILD)/tools hwheeld
	@mkdir -p $(BUILD)/hwheeld-in/durable
	@echo "python3 -B $(CURDIR)/tools/demo/durable.py $(BUILD)/tools/hwheeld/hwheeld /tmp/durable" \
		>$(BUILD)/hwheeld-in/durable/inside
	@$(HWHEELD_RUN) --out $(BUILD)/durable --timeout 600 \
		$(MODULE)/hwheel.ko $(BUILD)/hwheeld-in/durable/inside

_run:
	@rm -f $(BUILD)/run.json
	@$(STEP) $(BUILD)/run-module.log "Building hwheel.ko for $(KVER)" $(MAKE) _module
	@$(STEP) $(BUILD)/run-tools.log "Building libhwheel, hwheelctl and the demonstration" \
		$(MAKE) _tools
	@$(MAKE) _demonstrate

_demonstrate:
	@echo "Booting Debian's $(KVER) in a VM"
	@status=0; \
	$(VM) --kver $(KVER) --out $(BUILD)/run --programs --guest tools/demo/demo_guest.sh \
		$(MODULE)/hwheel.ko $(PROGRAMS) || status=$$?; \
	[ ! -e $(BUILD)/run/run.json ] || cp $(BUILD)/run/run.json $(BUILD)/run.json; \
	exit $$status

_shell: _module _tools
	@$(MAKE) _open_shell

_open_shell: $(MADE_PAGES)
	@$(VM) --kver $(KVER) --out $(BUILD)/shell --guest selftests/harness/vm/shell_guest.sh \
		$(if $(SHARE),--share $(SHARE)) --interactive $(MODULE)/hwheel.ko $(PROGRAMS) \
		$(PAGES)

shell-test: ## test what make shell offers (downloads a kernel that mounts folders)
	@mkdir -p $(BUILD)
	@MAKE="$(MAKE)" selftests/harness/vm/shell_test.sh $(BUILD)/shell-test | \
		tee $(BUILD)/shell-test.tap

_harness:
	@vars=$$($(SETUP) vm) && $(MAKE) _vm_harness $$vars

_vm_harness:
	@mkdir -p $(BUILD)
	@selftests/harness/vm/harness_test.sh --out $(BUILD)/harness $(VM) --kver $(KVER) | \
		tee $(BUILD)/harness.tap

# Does a kernel that looks for what is wrong find it?
_wrong: _test_modules
	@selftests/harness/vm/harness_test.sh --out $(BUILD)/wrong-run \
		$(WRONG) $(TEST_MODULES)/selftests/harness/vm/hwheel_wrong.ko $(BOOT) | \
		tee $(BUILD)/wrong.tap

# The objects are in a folder of their own.
_coverage_all:
	@status=0; \
	$(MAKE) _selftests BUILD=$(BUILD)/coverage-vm QUICK=1 GCOV_PROFILE=y || status=$$?; \
	selftests/harness/coverage.sh kselftest \
		$(BUILD)/coverage-vm/selftests-run/counters.tar \
		$(BUILD)/coverage-vm/module-$(KVER) && exit $$status

# Of the whole kernel the module alone tells syzkaller what it has reached.
_syzkaller:
	@$(MAKE) _module $(COUNTED)
	@out=$(BUILD)/syzkaller-$(FLAVOUR) status=0; \
	{ selftests/stress/syzkaller/run.sh $(SYZKALLER) $(DROPBEAR) $(KDIR)/../vmlinuz \
		$(MODULE)/hwheel.ko $$out $(TIME) $(SYZKALLER_WORDS) && \
		selftests/stress/syzkaller/report.py $$out $(MODULE); } || status=$$?; \
	$(ROW) "$(firstword $(subst -, ,$(KVER))) SMP, PREEMPT" "$(SANITIZERS_$(FLAVOUR))" syzkaller \
		$(COMMIT) $$SECONDS $$status $$out/report.txt; \
	exit $$status

_model:
	@$(SETUP) model >/dev/null
	@mkdir -p $(BUILD)
	@selftests/models/search.sh | tee $(BUILD)/model.tap

_litmus:
	@mkdir -p $(BUILD)
	@selftests/models/litmus.sh $(KSRC) | tee $(BUILD)/litmus.tap

_test_programs:
	@mkdir -p $(TEST_PROGRAMS)
	@$(MAKE) -j$$(nproc) -C selftests KSRC=$(KSRC) OUTPUT=$(TEST_PROGRAMS) TESTS="$(TESTS)"
	@echo "$(SEED)" >$(TEST_PROGRAMS)/seed

# $(call scripts,NAME...): of a test each, wherever it is, and what they read
scripts = $(foreach name,$(1),$(or $(wildcard selftests/*/$(name).sh),selftests/$(name).sh)) \
	  $(addprefix selftests/harness/,common.sh leaks.sh tap.sh)

_selftests: _test_modules _test_programs
	@cp $(if $(QUICK),$(QUICK_BOUNDS),/dev/null) $(TEST_PROGRAMS)/bounds
	@$(BOOT) --out $(BUILD)/selftests-run --timeout $(TIMEOUT) \
		--guest selftests/harness/selftests_guest.sh $(MODULE)/hwheel.ko \
		$(TEST_PROGRAMS)/seed $(TEST_PROGRAMS)/bounds \
		$(TESTS:%=$(TEST_PROGRAMS)/%) $(HELPERS:%=$(TEST_PROGRAMS)/%) \
		$(wildcard $(patsubst %,$(TEST_MODULES)/selftests/%/*.ko,module stress fault)) \
		$(call scripts,$(SCRIPTS)) && status=0 || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/selftests.tap --part kselftest \
		$$status $(patsubst %,$(BUILD)/selftests-run/%.tap,guest $(TESTS) $(SCRIPTS))

_torture: _test_modules _test_programs
	@printf '%s\n' "fuzz_test $(CALLS)" "torture_test $(OPS)" "unload_test $(RELOADS)" \
		"hotplug_test $(OFFLINE)" "kill_midcall_test $(KILLS)" \
		"populate_test $(PENDING)" >$(TEST_PROGRAMS)/bounds
	@$(BOOT) --out $(BUILD)/$(RUN) --timeout $(TORTURE_TIMEOUT) --mem 2560 \
		--guest selftests/stress/torture_guest.sh $(MODULE)/hwheel.ko $(TEST_PROGRAMS)/seed \
		$(patsubst %,$(TEST_MODULES)/selftests/stress/hwheel_%.ko,torture populate) \
		$(patsubst %,$(TEST_MODULES)/selftests/module/hwheel_%.ko,sample place) \
		$(HELPERS:%=$(TEST_PROGRAMS)/%) $(TEST_PROGRAMS)/bounds \
		$(call scripts,$(TORTURES) $(FIRES)) && status=0 || status=$$?; \
	python3 -B selftests/harness/tap.py --out $(BUILD)/$(RUN).tap --part $(RUN) \
		$$status $(patsubst %,$(BUILD)/$(RUN)/%.tap,$(TORTURES) $(FIRES))

# Other modules build against the files that make install leaves.
_out_of_tree:
	@vars=$$($(SETUP) vm tools) && $(MAKE) _vm_out_of_tree $$vars

_vm_out_of_tree:
	@rm -rf $(BUILD)/installed
	@$(MAKE) _install DESTDIR=$(BUILD)/installed >/dev/null
	@selftests/module/out_of_tree.sh --kver $(KVER) --kdir $(KDIR) --dest $(BUILD)/installed \
		--out $(BUILD)/out-of-tree

# What the documents say to do, with what make install leaves
_readme:
	@vars=$$($(SETUP) vm tools) && $(MAKE) _vm_readme $$vars

_vm_readme: _module
	@rm -rf $(BUILD)/installed
	@$(MAKE) _install_tools DESTDIR=$(BUILD)/installed >/dev/null
	@MAKE="$(MAKE)" selftests/harness/documents/documents.sh $(KVER) $(MODULE)/hwheel.ko \
		$(BUILD)/installed $(BUILD)/readme-run | tee $(BUILD)/readme.tap

_lint:
	@mkdir -p $(BUILD)
	@MAKE="$(MAKE)" KVER=$(KVER) KDIR=$(KDIR) KSRC=$(KSRC) \
		selftests/harness/lint.sh | tee $(BUILD)/lint.tap

_install: _install_module _install_tools
	[ -n "$(DESTDIR)" ] || ldconfig
	[ -n "$(DESTDIR)" ] || depmod -a $(KVER)

# A distribution keeps the key that its kernel's modules are signed with.
_install_module: SIGN = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)
_install_module: _module
	$(MAKE) -C $(KDIR) M=$(MODULE) $(SIGN) INSTALL_MOD_PATH=$(DESTDIR) \
		INSTALL_MOD_DIR=updates modules_install
	install -D -m 644 -t $(DEVEL)/include/linux module/include/linux/hwheel.h
	install -D -m 644 -t $(DEVEL)/include/uapi/linux module/include/uapi/linux/hwheel.h
	install -D -m 644 -t $(DEVEL)/$(KVER) $(MODULE)/Module.symvers

$(MADE_PAGES): tools/man/kernel_doc.py tools/man/hwheel.4.in tools/libhwheel.h tools/examples/first.c \
		$(wildcard module/include/linux/*.h module/include/uapi/linux/*.h module/engine/*.c)
	@mkdir -p $(@D)
	python3 -B $< $(@F) >$@.new
	@mv $@.new $@

# A page has a link by the name of each of its functions: man9/hwheel_arm.9.
_install_pages: $(MADE_PAGES)
	for page in $(PAGES); do \
		name=$${page##*/} section=$${page##*.}; \
		folder=$(ROOT)/share/man/man$$section; \
		install -D -m 644 -t $$folder $$page; \
		for function in $$(sed -n 's/^\.Nm \(hwheel_[a-z_]*\).*/\1/p' $$page); do \
			ln -sf $$name $$folder/$$function.$$section; \
		done; \
	done

# What packages have of it: all but the module
_install_tools: _tools _install_pages
	install -D -m 644 -t $(INCLUDE) module/include/uapi/linux/hwheel.h
	install -D -m 755 -t $(ROOT)/bin $(BUILD)/tools/hwheelctl
	install -D -m 644 -t $(ROOT)/include tools/libhwheel.h
	install -D -m 644 -t $(LIB) $(BUILD)/tools/libhwheel.a \
		$(BUILD)/tools/libhwheel.so.$(VERSION)
	ln -sf libhwheel.so.$(VERSION) $(LIB)/$(SONAME)
	ln -sf $(SONAME) $(LIB)/libhwheel.so
	install -d $(LIB)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		tools/libhwheel/hwheel.pc.in >$(LIB)/pkgconfig/hwheel.pc
	install -D -m 644 -t $(ROOT)/share/bash-completion/completions tools/completion/hwheelctl
	install -D -m 644 -t $(ROOT)/lib/udev/rules.d tools/config/60-hwheel.rules
	install -D -m 644 -t $(ROOT)/share/doc/hwheel/examples \
		$(filter-out %/hwheeld.conf,$(wildcard tools/config/*.conf))
	[ ! -x $(BUILD)/tools/hwheeld/hwheeld ] || $(MAKE) _install_hwheeld

# Where the daemon was built (make hwheeld, or a package): not each machine has its libraries.
_install_hwheeld:
	install -D -m 755 -t $(ROOT)/sbin $(BUILD)/tools/hwheeld/hwheeld
	[ -e $(DESTDIR)/etc/hwheeld.conf ] || \
		install -D -m 644 -t $(DESTDIR)/etc tools/config/hwheeld.conf
	install -d $(ROOT)/lib/systemd/system
	sed 's|/usr/sbin|$(PREFIX)/sbin|' tools/config/hwheeld.service \
		>$(ROOT)/lib/systemd/system/hwheeld.service
