# SPDX-License-Identifier: GPL-2.0-only
# make -C tools install: what is installed beside the module. (DESTDIR=, PREFIX=, LIBDIR=)

PREFIX  ?= /usr/local
DESTDIR ?=
ROOT     = $(DESTDIR)$(PREFIX)
INCLUDE  = $(DESTDIR)/usr/include/linux
LIBDIR  ?= $(PREFIX)/lib
LIB      = $(DESTDIR)$(LIBDIR)
MADE_PAGES = $(addprefix $(O)/man/,hwheel.4 hwheel.9 libhwheel.3 hwheel_local.3)
PAGES    = $(wildcard $(HERE)man/*.[1-9]) $(MADE_PAGES)

$(MADE_PAGES): $(addprefix $(HERE),man/kernel_doc.py man/hwheel.4.in libhwheel.h hwheel_local.h \
		examples/first.c examples/local.c) \
		$(wildcard $(addprefix $(HERE)../module/,include/linux/*.h include/uapi/linux/*.h engine/*.c))
	@mkdir -p $(@D)
	python3 -B $< $(@F) >$@.new
	@mv $@.new $@

pages: $(MADE_PAGES)

# A page has a link by the name of each of its functions: man9/hwheel_arm.9.
install_pages: pages
	for page in $(PAGES); do \
		name=$${page##*/} section=$${page##*.}; \
		folder=$(ROOT)/share/man/man$$section; \
		install -D -m 644 -t $$folder $$page; \
		for function in $$(sed -n 's/^\.Nm \(hwheel_[a-z_]*\).*/\1/p' $$page); do \
			ln -sf $$name $$folder/$$function.$$section; \
		done; \
	done

install: all install_pages
	install -D -m 644 -t $(INCLUDE) $(HERE)../module/include/uapi/linux/hwheel.h
	install -D -m 755 -t $(ROOT)/bin $(CTL)
	install -D -m 644 -t $(ROOT)/include $(HERE)libhwheel.h $(HERE)hwheel_local.h
	install -D -m 644 -t $(LIB) $(LIBRARY)
	ln -sf libhwheel.so.$(VERSION) $(LIB)/$(SONAME)
	ln -sf $(SONAME) $(LIB)/libhwheel.so
	install -d $(LIB)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		$(HERE)libhwheel/hwheel.pc.in >$(LIB)/pkgconfig/hwheel.pc
	install -D -m 644 -t $(ROOT)/share/bash-completion/completions $(HERE)completion/hwheelctl
	install -D -m 644 -t $(ROOT)/lib/udev/rules.d $(HERE)config/60-hwheel.rules
	install -D -m 644 -t $(ROOT)/share/doc/hwheel/examples \
		$(filter-out %/hwheeld.conf,$(wildcard $(HERE)config/*.conf))
	[ ! -x $(DAEMON) ] || $(MAKE) -C $(HERE) O=$(O) install_hwheeld

# Where the daemon was built (make hwheeld, or a package): not each machine has its libraries.
install_hwheeld:
	install -D -m 755 -t $(ROOT)/sbin $(DAEMON)
	install -D -m 644 -t $(ROOT)/share/hwheeld $(HERE)hwheeld/http/openapi.json
	[ -e $(DESTDIR)/etc/hwheeld.conf ] || \
		install -D -m 644 -t $(DESTDIR)/etc $(HERE)config/hwheeld.conf
	install -d $(ROOT)/lib/systemd/system
	sed 's|/usr/sbin|$(PREFIX)/sbin|' $(HERE)config/hwheeld.service \
		>$(ROOT)/lib/systemd/system/hwheeld.service

uninstall:
	rm -f $(INCLUDE)/hwheel.h $(ROOT)/bin/hwheelctl
	rm -f $(addprefix $(ROOT)/include/,libhwheel.h hwheel_local.h)
	rm -f $(LIB)/libhwheel.a $(LIB)/libhwheel.so $(LIB)/libhwheel.so.*
	[ ! -d $(ROOT)/share/man ] || \
		find $(ROOT)/share/man -type l -regex '.*/hwheel_.*' -lname '*hwheel*.[39]' -delete
	rm -f $(LIB)/pkgconfig/hwheel.pc $(addprefix $(ROOT)/share/man/man*/,$(notdir $(PAGES)))
	rm -f $(ROOT)/share/bash-completion/completions/hwheelctl
	rm -rf $(ROOT)/share/hwheeld
	rm -f $(ROOT)/sbin/hwheeld $(ROOT)/lib/systemd/system/hwheeld.service
	! cmp -s $(HERE)config/hwheeld.conf $(DESTDIR)/etc/hwheeld.conf || rm $(DESTDIR)/etc/hwheeld.conf
	rm -f $(ROOT)/lib/udev/rules.d/60-hwheel.rules
	rm -rf $(ROOT)/share/doc/hwheel
	[ -n "$(DESTDIR)" ] || ldconfig

.PHONY: pages install install_pages install_hwheeld uninstall
