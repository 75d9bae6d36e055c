# SPDX-License-Identifier: Apache-2.0
# Two commands do everything on a fresh Debian 12 with Swift 6.2 or later: `make run` and `make test`.

SWIFT ?= swift
PREFIX ?= /usr/local
# The number of tests that run at the same time. Without a limit, a test waits so long for the others that its connections time out.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# The level up to which the checks run against the mutants (portolan check --level).
LEVEL ?= 3
# With this variable the benchmarks are part of the package (Package.swift): 1 builds them with their tests, peers also adds the packages with which they
# are compared.
WITH_BENCHMARKS := env PORTOLAN_BENCHMARKS=1 $(SWIFT)
WITH_PEERS := env PORTOLAN_BENCHMARKS=peers $(SWIFT)
# The built tests. Not by `swift test`: two of them at the same time can find the database of the build locked, and then find no tests.
RUN_TESTS := env PORTOLAN_BENCHMARKS=1 NO_COLOR=1 .build/debug/portolanPackageTests.xctest --testing-library swift-testing
# The target that builds the tests. It is empty if they are already built.
BUILD_TESTS ?= build-tests
# Targets run one after another, because they build in the same folder.
.NOTPARALLEL:
FORMATTED := Sources PluginKit/Package.swift Plugins Tests Benchmarks Fuzzing Examples/Embedding Package.swift

.PHONY: run install test test-full test-suite build-tests test-asan test-tsan test-mutants check-scaffolds memcheck fuzz build plugins fixtures embedding tutorials traits packages packages-run packages-install packages-test packages-peers packages-bench packages-docs bench bench-test bench-plugins docs contract-reference format lint update-psl clean

# Installs the packages that are missing, builds, and loads real input with each kind of handler.
run: packages-run build plugins
	@scripts/run.sh

# Installs the packages that the tests need, builds, and runs every test. At the end it prints how long each part took.
test:
	@LEVEL=$(LEVEL) BUILD_TESTS= scripts/parts.sh '$(MAKE)' packages-test contract-reference fixtures embedding build-tests traits tutorials bench-test test-mutants+test-suite

# All tests that build-tests has built, except for those of the benchmarks and the mutants. make test runs the mutants at the same time, because these
# tests do not use all processors.
test-suite: fixtures
	scripts/test.sh $(RUN_TESTS) --skip BenchTests

# One build for the tests, the tests of the benchmarks, and lint. A target that imports another target without naming it in Package.swift is an error.
build-tests: packages-peers
	$(WITH_BENCHMARKS) build --build-tests --explicit-target-dependency-import-check error

# Each check of `portolan check`, up to LEVEL, must fail for the plugins that violate its rule. Runs with a low priority, so that the other tests get the
# processors first.
test-mutants: $(BUILD_TESTS) fixtures
	PORTOLAN_MUTANTS=$(LEVEL) nice scripts/test.sh $(RUN_TESTS) --filter MutantTests

# Runs every test, and the checks of all levels against the mutants.
test-full: LEVEL := 5
test-full: test
	$(MAKE) check-scaffolds

# Checks the plugin that `new plugin` writes in each language, at level 5 and under Valgrind. Takes minutes, so only test-full runs it.
check-scaffolds: packages-test build-tests
	@scripts/check-scaffolds.sh .build/debug/portolan

# Every test under AddressSanitizer and LeakSanitizer.
test-asan: packages-test packages-bench fixtures
	scripts/test-asan.sh

# The C plugins of the tests, and calls through libffi, under Valgrind.
memcheck:
	@scripts/packages.sh memcheck
	@scripts/memcheck.sh

# Seven test targets, which load no plugin library, under ThreadSanitizer.
test-tsan: packages-test
	scripts/test-tsan.sh

# Runs each fuzzer, or only FUZZ_TARGET, for FUZZ_TIME seconds. A finding is a failure.
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

# Installs the command, the plugins, the C headers with their pkg-config file, the kit for plugins in Swift, and the pages:  make install PREFIX=/usr/local [DESTDIR=/stage]
install: packages-install build plugins
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install.sh "$$($(SWIFT) build -c release --show-bin-path)"

# The plugin libraries that the tests load: correct ones, and ones that violate the contract.
fixtures:
	@$(MAKE) -s -j "$$(nproc)" -C Tests/PluginFixtures OUT=../../.build/fixtures

# Builds and runs packages that depend on this one by URL and version, as the package of a user does: the example, and the packages of the tutorials.
embedding:
	@scripts/embedding.sh

# Compiles the Swift blocks of the pages, and runs the commands of the tutorials with the portolan that build-tests has built. The target embedding runs
# the packages of the tutorials.
tutorials: $(BUILD_TESTS)
	@built="$$($(WITH_BENCHMARKS) build --show-bin-path)" && scripts/examples.py "$$built/Modules" && PORTOLAN="$$built/portolan" scripts/tutorials.py portolan .build/tutorials

# Measures Portolan and the libraries with which it is compared, and writes .build/bench/results.json and report.html:  make bench [BENCH="--row gzip --rounds 3"]
# A separate build folder, so that there are no plugins beside the program.
OPTIMISED := -c release --scratch-path .build/benchmarks

bench: bench-plugins
	$(WITH_PEERS) build $(OPTIMISED) --product portolan
	$(WITH_PEERS) build $(OPTIMISED) --product bench
	@.build/benchmarks/release/bench $(BENCH)

# The libraries and the command compile without the package traits.
traits: $(BUILD_TESTS)
	@scripts/traits.sh "$$($(WITH_BENCHMARKS) build --show-bin-path)/Modules"

# The tests of the benchmarks. One of them makes a row slow on purpose, and expects that it exceeds its budget.
bench-test: bench-plugins $(BUILD_TESTS)
	scripts/test.sh $(RUN_TESTS) --filter BenchTests

# The libraries that the benchmarks load.
bench-plugins: packages-bench
	@$(MAKE) -s -C Benchmarks/Plugins/Events OUT=../../../.build/bench/plugins
	@$(MAKE) -s -C Benchmarks/Plugins/Calls OUT=../../../.build/bench/plugins
	@$(MAKE) -s -C Benchmarks/Plugins/Echo OUT=../../../.build/bench/plugins
	@$(MAKE) -s -C Plugins/Echo OUT=../../.build/bench/plugins
	@$(MAKE) -s -C Plugins/Gzip OUT=../../.build/bench/plugins

# Builds the documentation as a site in .build/docs. A warning is an error.
docs: packages-docs
	@SWIFT='$(SWIFT)' scripts/docs.sh

packages-docs:
	@scripts/packages.sh docs

# Fails if the contract reference does not match the headers; without --check the script writes it.
contract-reference:
	@/usr/bin/python3 scripts/contract-reference.py --check

# Generates the table of public suffixes from Debian's package.
update-psl: packages-test
	scripts/public-suffixes.py > .build/PublicSuffixTable.swift
	mv .build/PublicSuffixTable.swift Sources/PortolanCookies/PublicSuffixes/PublicSuffixTable.swift

format:
	$(SWIFT) format -i -r $(FORMATTED)

# Checks the style, and that each target names the targets that it imports.
lint: build-tests
	$(SWIFT) format lint --strict -r $(FORMATTED)
	/usr/bin/python3 scripts/traps.py
	/usr/bin/python3 scripts/prose.py

clean:
	rm -rf .build
