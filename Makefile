# heed. CMake builds; this file installs what is missing, calls CMake and runs things. `make help` lists the targets.
#
# Everything is made in build/: build/release is the product, other directories are builds for the tests, each with its
# log. build/stages keeps what the stages of the tests said (tools/stage.sh); one that passed is run again only when a
# file that it is made from has changed since.
.PHONY: all help deps demo test test-all check check-seeds bench install docs exported format fuzz clean
.NOTPARALLEL:

PREFIX  ?= /usr/local
SECONDS := 60
TARGET  :=
ONLY    :=
FULL    := 0
STAGE   := release

# Files and directories: a directory changes when a file is added to it or taken away. docs is a target too, so the
# directory of that name is left out: it would be made again with every stage.
WATCHED := $(wildcard CMakeLists.txt Makefile heed.pc.in .clang-format) $(filter-out docs, \
           $(shell find cmake include src tests examples recipes docs tools -path tests/oracle -prune -o -print 2>/dev/null))

all: ## build the library and the command
	@sh tools/deps.sh build
	@sh tools/build.sh release product -DHEED_WERROR=ON -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@echo "built: build/release/heed"

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

deps: ## install the packages that building and testing need (Debian, as root or with sudo)
	@sh tools/deps.sh build test all

demo: all ## build, and show what heed can do
	@build/release/heed demo --force

test: ## build and test: as it is installed, and with ASan and UBSan (ten to fifteen minutes on two cores, most of them compiling)
	@sh tools/deps.sh build test
	@MAKE="$(MAKE)" sh tools/test.sh -a release address

test-all: ## everything: also clang, TSan, all instruction sets, fuzzing, what learns for minutes, the page in Chromium
	@sh tools/deps.sh build test all
	@MAKE="$(MAKE)" sh tools/test.sh release address sets wide thread clang fuzz full

check: ## build and run only the tests whose names match: make check ONLY=tensor [STAGE=address]
	@sh tools/deps.sh build test
	@sh tools/stage.sh $(STAGE) '$(value ONLY)'

check-seeds: ## what learns, with five seeds on every instruction set, and how far it is from its bars: make check-seeds [ONLY=lm] [FULL=1]
	@sh tools/deps.sh build test
	@FULL=$(FULL) sh tools/check_seeds.sh '$(value ONLY)'

build/stages/%.passed: $(WATCHED)
	@sh tools/stage.sh $*

bench: all ## measure heed beside PyTorch and others (fetched into build/venv): make bench [ONLY=linear]
	@sh tools/deps.sh bench
	@sh tools/bench.sh $(ONLY)

install: all ## install under PREFIX (/usr/local), below DESTDIR when given
	@cmake --install build/release --prefix $(PREFIX)
	@if [ -z "$(DESTDIR)" ]; then sh tools/ld_cache.sh $(PREFIX); fi

docs: all ## write what the command prints of itself to docs/reference/
	@build/release/heed docs models >build/models.md
	@build/release/heed docs help >build/commands.md
	@cp build/models.md build/commands.md docs/reference/

exported: all ## write the names that libheed.so exports to tests/meta/exported.txt, with which a test compares them
	@nm -D --defined-only build/release/libheed.so | awk '{ print $$NF }' | LC_ALL=C sort >tests/meta/exported.txt

format: ## lay out the code with clang-format-14
	@sh tools/deps.sh test
	@find include src tests examples bench -name '*.[ch]' | xargs clang-format-14 -i

fuzz: ## fuzz the file readers: make fuzz [SECONDS=60] [TARGET=npy]
	@sh tools/deps.sh build all
	@FUZZ_SECONDS=$(SECONDS) sh tools/stage.sh fuzz '^fuzz/$(TARGET)'

clean: ## remove build/
	@rm -rf build
