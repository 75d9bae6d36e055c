# SPDX-License-Identifier: Apache-2.0
# How a plugin in Swift is built on the kit; its Makefile sets NAME (of the module), LIBRARY (the file) and SOURCES, and includes this.
#   make -C Plugins/Echo OUT=/somewhere [EXTRA=-fsanitize=address]
# A relative OUT begins at the plugin's folder.
OUT ?= ../../.build/plugins
SWIFTC ?= swiftc
ROOT := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))/..
INCLUDE := $(ROOT)/Sources/CPortolan/include
HEADERS := $(wildcard $(INCLUDE)/*.modulemap $(INCLUDE)/portolan/*.h)
KIT := $(wildcard $(ROOT)/Sources/PortolanPluginKit/*/*.swift)
# A sanitizer's functions are the host's, which is built with it too; everything else has to be found at link time.
SANITIZERS = $(patsubst -fsanitize=%,-sanitize=%,$(EXTRA))
# The kit has a folder for each set of flags, so that a build for AddressSanitizer leaves the other alone.
KITDIR = $(OUT)/kit$(subst =,-,$(SANITIZERS))-$(NAME)
FLAGS = -parse-as-library -Osize -whole-module-optimization -swift-version 6 -strict-memory-safety -warnings-as-errors \
	-enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
	-enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature NonisolatedNonsendingByDefault \
	-Xfrontend -disable-implicit-string-processing-module-import -I $(INCLUDE) $(SANITIZERS)
# Kit and plugin are optimised as one, and what the plugin does not reach of the kit goes: of Echo more than a quarter of all bytes. The kit alone is without the
# names of its types' members, which nothing in it asks for; the plugin's own types keep theirs.
ifeq ($(SANITIZERS),)
FLAGS += -lto=llvm-full -Xfrontend -function-sections -Xfrontend -internalize-at-link
KITFLAGS := -Xfrontend -disable-reflection-metadata
# Relative relocations are packed where the system's loader can read that: glibc 2.36 and later.
RELR := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ split($$2, v, "."); if (v[1] > 2 || v[2] >= 36) print "-Xlinker -z -Xlinker pack-relative-relocs" }')
LINKFLAGS := -use-ld=lld -Xlinker --icf=safe $(RELR) -Xlinker --no-undefined
endif

$(OUT)/$(LIBRARY): $(SOURCES) $(KITDIR)/libPortolanPluginKit.a $(ROOT)/Plugins/exports.map Makefile
	$(SWIFTC) $(FLAGS) -emit-library -module-name $(NAME) -I $(KITDIR) -L $(KITDIR) $(SOURCES) -o $@ \
		-Xlinker --version-script=$(ROOT)/Plugins/exports.map -Xlinker --as-needed -Xlinker --gc-sections -Xlinker -s \
		-lswiftSynchronization -lFoundationEssentials -Xlinker -soname=$(LIBRARY) $(LINKFLAGS)

$(KITDIR)/libPortolanPluginKit.a: $(KIT) $(HEADERS) $(ROOT)/Plugins/kit.mk
	mkdir -p $(KITDIR)
	rm -f $@ # an archive that is there would keep what other flags have made
	$(SWIFTC) $(FLAGS) $(KITFLAGS) -emit-library -static -emit-module -emit-module-path $(KITDIR)/PortolanPluginKit.swiftmodule \
		-module-name PortolanPluginKit -module-link-name PortolanPluginKit $(KIT) -o $@
