# SPDX-License-Identifier: Apache-2.0
# Builds a plugin in Swift with the kit. Its Makefile sets NAME (of the module), LIBRARY (the file) and SOURCES, and includes this.
#   make -C Plugins/Echo OUT=/somewhere [EXTRA=-fsanitize=address]
# A relative OUT starts at the plugin's folder.
OUT ?= ../../.build/plugins
SWIFTC ?= swiftc
ROOT := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))/..
INCLUDE := $(ROOT)/Sources/CPortolan/include
HEADERS := $(wildcard $(INCLUDE)/*.modulemap $(INCLUDE)/portolan/*.h)
KIT := $(wildcard $(ROOT)/Sources/PortolanPluginKit/*/*.swift)
# The host provides a sanitizer's functions, because it is built with it, too. Everything else must be found at link time.
SANITIZERS = $(patsubst -fsanitize=%,-sanitize=%,$(EXTRA))
# The kit has a folder for each set of flags, so that a build for AddressSanitizer leaves the other alone.
KITDIR = $(OUT)/kit$(subst =,-,$(SANITIZERS))-$(NAME)
FLAGS = -parse-as-library -Osize -whole-module-optimization -swift-version 6 -strict-memory-safety -warnings-as-errors \
	-enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
	-enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature NonisolatedNonsendingByDefault \
	-Xfrontend -disable-implicit-string-processing-module-import -Xfrontend -function-sections -I $(INCLUDE) $(SANITIZERS)
# The linker drops functions that nobody calls, and merges equal ones. Packs relocations in the format that Debian 12's loader reads.
LINKFLAGS = -use-ld=lld $(addprefix -Xlinker ,--version-script=$(ROOT)/Plugins/exports.map --as-needed --gc-sections --icf=all \
	-z pack-relative-relocs -soname=$(LIBRARY) -s)
# Only the kit drops the names of its types' members, because nothing in it uses them; the plugin's own types keep theirs.
# Not optimised together with the plugin (-lto=llvm-full): this would save another 5 % of the bytes, but the stack of such
# code can't be unwound, and a host that reads the stack when an error is thrown crashes.
ifeq ($(SANITIZERS),)
KITFLAGS := -Xfrontend -disable-reflection-metadata
endif

$(OUT)/$(LIBRARY): $(SOURCES) $(KITDIR)/libPortolanPluginKit.a $(ROOT)/Plugins/exports.map Makefile
	$(SWIFTC) $(FLAGS) -emit-library -module-name $(NAME) -I $(KITDIR) -L $(KITDIR) $(SOURCES) -o $@ \
		$(LINKFLAGS) -lswiftSynchronization -lFoundationEssentials

$(KITDIR)/libPortolanPluginKit.a: $(KIT) $(HEADERS) $(ROOT)/Plugins/kit.mk
	mkdir -p $(KITDIR)
	rm -f $@ # because an existing archive would keep the objects of other flags
	$(SWIFTC) $(FLAGS) $(KITFLAGS) -emit-library -static -emit-module -emit-module-path $(KITDIR)/PortolanPluginKit.swiftmodule \
		-module-name PortolanPluginKit -module-link-name PortolanPluginKit $(KIT) -o $@
