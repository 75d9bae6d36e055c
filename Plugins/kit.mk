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
	-Xfrontend -disable-implicit-string-processing-module-import -Xfrontend -function-sections -I $(INCLUDE) $(SANITIZERS)
# Of functions that nobody calls, and of equal ones all but one, the linker makes nothing; relocations as Debian 12's loader reads them packed.
LINKFLAGS = -use-ld=lld $(addprefix -Xlinker ,--version-script=$(ROOT)/Plugins/exports.map --as-needed --gc-sections --icf=all \
	-z pack-relative-relocs -soname=$(LIBRARY) -s)
# The kit alone is without the names of its types' members, which nothing in it asks for; the plugin's own types keep theirs. Not optimised as one with the plugin
# (-lto=llvm-full), which takes another 5 % of the bytes: of what is made so the stack can't be unwound, and a host that looks at it where an error is thrown crashes.
ifeq ($(SANITIZERS),)
KITFLAGS := -Xfrontend -disable-reflection-metadata
endif

$(OUT)/$(LIBRARY): $(SOURCES) $(KITDIR)/libPortolanPluginKit.a $(ROOT)/Plugins/exports.map Makefile
	$(SWIFTC) $(FLAGS) -emit-library -module-name $(NAME) -I $(KITDIR) -L $(KITDIR) $(SOURCES) -o $@ \
		$(LINKFLAGS) -lswiftSynchronization -lFoundationEssentials

$(KITDIR)/libPortolanPluginKit.a: $(KIT) $(HEADERS) $(ROOT)/Plugins/kit.mk
	mkdir -p $(KITDIR)
	rm -f $@ # an archive that is there would keep what other flags have made
	$(SWIFTC) $(FLAGS) $(KITFLAGS) -emit-library -static -emit-module -emit-module-path $(KITDIR)/PortolanPluginKit.swiftmodule \
		-module-name PortolanPluginKit -module-link-name PortolanPluginKit $(KIT) -o $@
