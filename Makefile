# SPDX-License-Identifier: Apache-2.0
# Two commands do everything on a fresh Debian 12 with Swift 6.2 or later: `make run` and `make test`.

SWIFT ?= swift
PREFIX ?= /usr/local
# So many tests at once: with all of them at once, a load of one waits for the others' until its connection's idle time is over.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# How deep the mutants of the plugin contract are judged.
LEVEL ?= 3
# With the benchmarks, which are part of the package for this alone (Package.swift): to test them, and to measure, which needs packages more.
WITH_BENCHMARKS := env PORTOLAN_BENCHMARKS=1 $(SWIFT)
WITH_PEERS := env PORTOLAN_BENCHMARKS=peers $(SWIFT)
# What has to be built before tests run; nothing where it has been.
BUILD_TESTS ?= build-tests
# Builds of one folder, one after another.
.NOTPARALLEL:
FORMATTED := Sources PluginKit/Package.swift Plugins Tests Benchmarks Fuzzing Examples/Embedding Package.swift

.PHONY: run install test test-full test-suite build-tests test-asan test-tsan test-mutants memcheck fuzz build plugins fixtures embedding tutorials traits packages packages-run packages-install packages-test packages-peers packages-bench packages-docs bench bench-test bench-plugins docs contract-reference format lint update-psl clean

# Installs what is missing, builds, and loads real input through each kind of handler.
run: packages-run build plugins
	@scripts/run.sh

# Installs what the tests need, builds, and runs every test; says at its end how long each part took.
test:
	@LEVEL=$(LEVEL) BUILD_TESTS= scripts/parts.sh '$(MAKE)' packages-test contract-reference fixtures embedding build-tests traits tutorials bench-test test-mutants+test-suite

# All but the benchmarks' tests and the mutants, as build-tests has built them; beside the mutants, for the suite alone leaves a processor idle.
test-suite: fixtures
	scripts/test.sh $(WITH_BENCHMARKS) test --skip-build --ignore-lock --disable-xctest --skip BenchTests

# One build for the tests, the benchmarks' tests and lint. A target that imports one it does not name fails it.
build-tests: packages-peers
	$(WITH_BENCHMARKS) build --build-tests --explicit-target-dependency-import-check error

# Each check of `portolan check`, up to LEVEL, fails the plugins that break its rule. Nice, for its many processes take the time that the suite leaves.
test-mutants: $(BUILD_TESTS) fixtures
	PORTOLAN_MUTANTS=$(LEVEL) nice scripts/test.sh $(WITH_BENCHMARKS) test --skip-build --ignore-lock --disable-xctest --filter MutantTests

# The same, with the checks of all levels.
test-full: LEVEL := 5
test-full: test

# The same tests under AddressSanitizer and LeakSanitizer.
test-asan: packages-test fixtures
	scripts/test-asan.sh

# The plugins of the tests and what libffi calls, as far as they are C alone, under Valgrind.
memcheck:
	@scripts/packages.sh memcheck
	@scripts/memcheck.sh

# The suites that load no plugin library, under ThreadSanitizer.
test-tsan: packages-test
	scripts/test-tsan.sh

# Each fuzzer for FUZZ_TIME seconds, or FUZZ_TARGET alone; fails where one finds something.
fuzz: packages
	@scripts/fuzz.sh

packages:
	@scripts/packages.sh

packages-run:
	@scripts/packages.sh run

packages-install:
	@scripts/packages.sh install

packages-test:
	@scripts/packages.sh test

packages-peers:
	@scripts/packages.sh peers

packages-bench:
	@scripts/packages.sh bench

build:
	$(SWIFT) build -c release --product portolan

# Each plugin with its manifest in plugins/NAME/ beside the executable.
plugins: build
	@scripts/plugins.sh "$$($(SWIFT) build -c release --show-bin-path)/plugins"

# The command, the plugins, the C headers with what pkg-config needs, the kit for plugins in Swift, and the pages:  make install PREFIX=/usr/local [DESTDIR=/stage]
install: packages-install build plugins
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install.sh "$$($(SWIFT) build -c release --show-bin-path)"

# The plugin libraries that the tests load: sound ones, and ones that break the contract.
fixtures:
	@$(MAKE) -s -j "$$(nproc)" -C Tests/PluginFixtures OUT=../../.build/fixtures

# Packages that depend on this one by URL and version, as a user's do: the example and those of the tutorials.
embedding:
	@scripts/embedding.sh

# Does what the tutorials say with the command that build-tests has built. Their packages are part of embedding.
# The Swift blocks of the pages compile, and the tutorials' commands print what the pages say.
tutorials: $(BUILD_TESTS)
	@built="$$($(WITH_BENCHMARKS) build --show-bin-path)" && scripts/examples.py "$$built/Modules" && PORTOLAN="$$built/portolan" scripts/tutorials.py portolan .build/tutorials

# Measures Portolan beside its peers, and writes .build/bench/results.json and report.html:  make bench [BENCH="--row gzip --rounds 3"]
# In a folder of its own, where no plugins lie beside the program.
OPTIMISED := -c release --scratch-path .build/benchmarks

bench: bench-plugins
	$(WITH_PEERS) build $(OPTIMISED) --product portolan
	$(WITH_PEERS) build $(OPTIMISED) --product bench
	@.build/benchmarks/release/bench $(BENCH)

# The library and the command compile without the package trait.
traits: $(BUILD_TESTS)
	@scripts/traits.sh "$$($(WITH_BENCHMARKS) build --show-bin-path)/Modules"

# Sees a row that was made slow on purpose over its budget.
bench-test: bench-plugins $(BUILD_TESTS)
	scripts/test.sh $(WITH_BENCHMARKS) test --skip-build --disable-xctest --filter BenchTests

# The libraries that the benchmarks load.
bench-plugins: packages-bench
	@$(MAKE) -s -C Benchmarks/Plugins/Events OUT=../../../.build/bench/plugins
	@$(MAKE) -s -C Benchmarks/Plugins/Calls OUT=../../../.build/bench/plugins
	@$(MAKE) -s -C Benchmarks/Plugins/Echo OUT=../../../.build/bench/plugins
	@$(MAKE) -s -C Plugins/Echo OUT=../../.build/bench/plugins
	@$(MAKE) -s -C Plugins/Gzip OUT=../../.build/bench/plugins

# The documentation as a site in .build/docs; a warning fails it.
docs: packages-docs
	@SWIFT='$(SWIFT)' scripts/docs.sh

packages-docs:
	@scripts/packages.sh docs

# Fails if the contract reference does not match the headers; without --check the script writes it.
contract-reference:
	@/usr/bin/python3 scripts/contract-reference.py --check

# The table of public suffixes, from Debian's package.
update-psl: packages-test
	scripts/public-suffixes.py > .build/PublicSuffixTable.swift
	mv .build/PublicSuffixTable.swift Sources/PortolanCookies/PublicSuffixes/PublicSuffixTable.swift

format:
	$(SWIFT) format -i -r $(FORMATTED)

# Style, and the layers: a target that imports one it does not name fails the build.
lint: build-tests
	$(SWIFT) format lint --strict -r $(FORMATTED)
	/usr/bin/python3 scripts/traps.py
	/usr/bin/python3 scripts/prose.py

clean:
	rm -rf .build
