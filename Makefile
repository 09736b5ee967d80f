# SPDX-License-Identifier: GPL-2.0-only
#
# make help lists the targets. KVER (a kernel's version), KDIR (its build folder) and KSRC (an
# unpacked source) choose kernels; KBUILD="W=1 C=2" reaches kbuild. selftests/harness/tests is the
# table of all tests, which selftests/harness runs; what is set here is in their environment.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory

BUILD   := $(CURDIR)/build
HARNESS := selftests/harness
RUN     := $(HARNESS)/needs.sh runner && python3 -B $(HARNESS)
# $(call built,NEED...): gets and builds them
built = vars=$$($(HARNESS)/needs.sh $(1)) && env $$vars $(HARNESS)/build.sh $(1)

module: ## build hwheel.ko for the running kernel (or KVER=, KDIR=)
	@$(call built,headers module)
	@echo "Load it with insmod, or install it: sudo make install"

check: ## run the tests, in ten minutes (T=: those of these names; make tests lists all)
	@$(RUN) $(or $(T),check)

quick: ## run those that take a minute or two
	@$(RUN) quick

check-all: ## run every test, also in a kernel that looks for data races, and search the models
	@$(RUN) all

kunit: ## run the KUnit tests in a user-mode kernel (FILTER=, MACHINE=, SEED=, SOAK=)
	@kunit/run.sh

selftests: ## run the kselftest programs and scripts in a VM, each as long as it goes
	@$(RUN) --on vm

torture: ## test and call at random where KASAN, KCSAN and lockdep look (CALLS=, OPS=, KERNELS=)
	@$(RUN) --on $(or $(KERNELS),kasan,kcsan)

faults: ## make each allocation and copy fail, in a kernel that can do that (builds it)
	@$(RUN) --on faults

matrix: ## run the kselftests on many kernels and machines (KERNELS=cloud,newest,arm64,...)
	@$(RUN) --on $(or $(KERNELS),cloud,rt,6.12-cloud,6.12-rt,newest,native,arm64,arm64-6.12,arm64-16k,armhf,i386,s390x)

tests: ## list the tests, with the machine and the seconds of each
	@$(RUN) --list all hand

# Each is a row of the table.
run: ## boot a VM and show what hwheel does there; build/run.json has the figures
shell: ## boot a VM with the module loaded and get a shell in it (SHARE=: a folder, the checkout)
cluster: ## put 10,000 timeouts into three nodes, each in a kernel of its own, and kill one half-way
durable: ## put 10,000 durable timeouts, restart the daemon half-way, and take them all
coverage: ## list the lines of module/ that the KUnit tests do not reach (FILTER=)
chaos: ## test nodes of hwheeld while they and etcd fail (TIME=30m, SEED=, FAULTS=)
syzkaller: ## call the device at random with syzkaller (TIME=2h)
lint: ## run the checkers over every file
check-packages: ## try the packages in a clean Debian 12, from installing to purging
check-patch: ## apply the patch series to a copy of a kernel tree, and build it there
run shell cluster durable coverage chaos syzkaller lint check-packages check-patch:
	@$(RUN) $@

mutants: ## put faults into the module by rule, and see whether a test notices (N=, SEED=, ONLY=)
	@$(HARNESS)/needs.sh runner && KSELFTESTS=y python3 -B kunit/mutants

bench: ## measure hwheel and its peers; build/bench.json (T=rows, BASE=file.json: what has risen)
	@selftests/bench/bench.sh $(T)

tools: ## build libhwheel, hwheelctl, the demonstrations and examples
	@$(call built,tools)

hwheeld: ## build the daemon of durable timeouts
	@$(call built,hwheeld)

java: ## build the timer for Java, also in place of Netty's: build/java/hwheel.jar
	@$(call built,java)

install: ## install module, headers, hwheelctl and libhwheel (DESTDIR=, PREFIX=)
	@$(call built,headers module tools install)

uninstall: ## remove what install put there, for all kernels (or KVER=)
	@$(MAKE) -C tools uninstall
	rm -f $(DESTDIR)/lib/modules/$(or $(KVER),*)/updates/hwheel.ko*
	rm -rf $(DESTDIR)/usr/src/hwheel-headers-*
	[ -n "$(DESTDIR)" ] || for deps in /lib/modules/$(or $(KVER),*)/modules.dep; do \
		[ ! -e "$$deps" ] || depmod -a "$$(basename "$${deps%/*}")"; \
	done

# MACHINE=arm64, i386, armhf or s390x: as on such a machine
deb: ## build Debian packages; they are in build/deb (MACHINE=arm64: in build/deb-arm64)
	@$(HARNESS)/needs.sh packaging debian
	@debian/build.sh $(BUILD)/deb$(MACHINE:%=-%)

patch: ## make a patch series that puts hwheel into a kernel tree (KSRC=); it is in build/patch
	@vars=$$($(HARNESS)/needs.sh patch source) && env $$vars \
		bash -c 'tools/patch/series.sh "$$KSRC" $(BUILD)/patch'

clean: ## remove build/; the cache folder stays
	rm -rf $(BUILD)

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

.PHONY: $(shell sed -nE 's/^([a-z-]+):.*## .*/\1/p' $(firstword $(MAKEFILE_LIST)))
