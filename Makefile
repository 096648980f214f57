# SPDX-License-Identifier: GPL-3.0-or-later
#
# The build of Shoal. Everything is made under build/ ($(BUILD)); `make help` lists the targets.
#
#   BUILD=DIR    another build folder              SAN=1     ASan and UBSan, in build/san
#                                                  SAN=thread  TSan, in build/thread: CC=clang, whose OpenMP it knows
#                                                  SAN=fuzzer  as SAN=1 for libFuzzer, in build/fuzzer: see `make fuzz`
#   CFLAGS=...   appended to the project's own     WERROR=   warnings stay warnings
#   prefix=DIR DESTDIR=DIR                         V=1       show the commands
#
# The interesting part is the kernels: core/engine/kernel_cpu.c is one text that is compiled once for each combination of
# instruction set, SIMD width, body count and propagator; build/kernel_table.c lists them for the engine.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

BUILD ?= build
# By one name, however it is given: objects and their dependencies are known by it.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
SAN ?=
B := $(BUILD)$(if $(filter-out 0,$(SAN)),/$(if $(filter thread fuzzer,$(SAN)),$(SAN),san))

ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
PKG_CONFIG ?= pkg-config
prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share
man1dir ?= $(datadir)/man/man1
completiondir ?= $(datadir)/bash-completion/completions
INSTALL ?= install

VERSION := $(shell sed -n 's/^.define SHOAL_VERSION "\(.*\)"/\1/p' core/shoal.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

# ---- what to compile with ------------------------------------------------------------------------------------------

CC_MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
CC_MAJOR := $(firstword $(subst ., ,$(shell $(CC) -dumpversion 2>/dev/null)))
# Warnings are errors with the compiler that the project is checked with; another one may know more warnings.
WERROR ?= $(if $(filter 12,$(CC_MAJOR)),1,0)

HDF5_MODULE := $(shell $(PKG_CONFIG) --exists hdf5 2>/dev/null && echo hdf5 || echo hdf5-serial)
MODULES := gsl libconfig $(HDF5_MODULE) zlib
MODULE_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(MODULES) 2>/dev/null)
MODULE_LIBS := $(shell $(PKG_CONFIG) --libs $(MODULES) 2>/dev/null)
CMOCKA_CFLAGS := $(shell $(PKG_CONFIG) --cflags cmocka 2>/dev/null)
CMOCKA_LIBS := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null || echo -lcmocka)

# Without object-size, which takes twice the time to compile: an access beyond an object is one the address sanitizer sees.
SAN_FLAGS := $(if $(filter-out 0 thread,$(SAN)),-fsanitize=address -fsanitize=undefined -fno-sanitize=object-size \
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
# Comparisons are not traced: that takes half of the time, and seeds have the words that matter.
SAN_FLAGS += $(if $(filter fuzzer,$(SAN)),-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp) \
    $(if $(filter thread,$(SAN)),-fsanitize=thread)
SAN_FLAGS := $(strip $(SAN_FLAGS))
# -Wno-pass-failed: clang leaves the simd loops alone that look for a least value.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes $(if $(findstring clang,$(CC)),-Wno-pass-failed) \
    $(if $(filter-out 0,$(WERROR)),-Werror)
HOST_FLAGS := -std=gnu11 -O2 -g -gz $(WARNINGS) -ffp-contract=off -fopenmp -fPIC -I. -I$B $(MODULE_CFLAGS) $(SAN_FLAGS)
# -Wno-maybe-uninitialized: a vector whose lanes are set one by one is taken for uninitialised.
KERNEL_ARITHMETIC := -std=gnu11 -fno-math-errno -fno-trapping-math -ffp-contract=off -fPIC
KERNEL_FLAGS := $(KERNEL_ARITHMETIC) $(if $(SAN_FLAGS),-O1 -g1,-O2) $(WARNINGS) -Wno-psabi \
    $(if $(findstring clang,$(CC)),,-Wno-maybe-uninitialized) \
    -I. -I$B $(SAN_FLAGS)
LIBS := $(MODULE_LIBS) -fopenmp -ldl -lm
DEP_FLAGS = -MMD -MP -MF $(@:.o=.d)

Q := $(if $(filter-out 0,$(V)),,@)
say = $(if $(filter-out 0,$(V)),,@printf '  %-7s %s\n' '$1' '$(patsubst $(BUILD)/%,%,$@)';)

# As many jobs as cores when a goal that builds is asked for without -j.
JOBS := $(shell nproc 2>/dev/null || echo 2)
submake = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

# ---- sources -------------------------------------------------------------------------------------------------------

PROPAGATORS := $(shell sed -n 's/^PROPAGATOR(\([A-Za-z0-9_]*\)).*/\1/p' integrators/list.h 2>/dev/null)
COMMANDS := $(wildcard core/command/*.c)
SOURCES := $(filter-out $(COMMANDS) core/engine/kernel_cpu.c core/engine/kernel_shared.c core/engine/kernel_common.c \
    gravitation/tiled/tiled_kernel.c,\
    $(wildcard core/*/*.c integrators/*.c gravitation/*.c gravitation/*/*.c monitors/*.c big/*.c))
# Those of the monitors and forces are included by a file that is made of their lists.
MADE_TEXTS := texts/monitors.kern.h texts/forces.kern.h
TEXTS := core/shoal.h core/base/count.h core/plug/plug.h core/engine/kernel_cpu.c core/engine/kernel_walker.h \
    $(wildcard core/kernel/*.h core/walker/*.h) \
    $(wildcard $(foreach d,core/engine integrators gravitation gravitation/* monitors,$d/*.kern.h $d/list.h))
TESTS := $(filter-out $(SKIP:%=tests/test_%.c),$(wildcard tests/test_*.c)) # SKIP: see tests/run
TEST_SUPPORT := $(filter-out tests/test_%,$(wildcard tests/*.c))
# One harness is a program: with libFuzzer, or with a driver of our own.
FUZZES := $(wildcard tests/fuzz/fuzz_*.c)
BENCHES := $(wildcard tests/bench/*.c)
EXAMPLES := $(wildcard examples/*.c)

# ---- kernels: ARCH_lLANES_nN_PROPAGATOR ----------------------------------------------------------------------------

ifeq ($(CC_MACHINE),x86_64)
KERNEL_ARCHS ?= v3 v4
ifeq ($(KERNEL_ARCHS),native)
override KERNEL_ARCHS := $(if $(shell grep -m 1 avx512vl /proc/cpuinfo 2>/dev/null),v4,v3)
endif
KERNEL_TEST_LANES ?= 1 4 8
else ifeq ($(CC_MACHINE),aarch64)
override KERNEL_ARCHS := neon
KERNEL_TEST_LANES ?= 1 4 8
else
override KERNEL_ARCHS := any
KERNEL_TEST_LANES ?=
endif
KERNEL_N ?= 2 3 4 5 6 7 8 9
# Propagators with a short step, where a fixed body count pays most, have all of these; the others have a few, and any.
KERNEL_FULL := hermite4 leapfrog mvs
KERNEL_SOME ?= 2 3 4 5
KERNEL_SOME_mvs_jacobi := 8# TRAPPIST-1's likelihood
# For a few systems, which a core advances one group of four lanes at a time: these of them, and any; empty: none.
KERNEL_FEW ?= 2 3 4 5 9
kernel_few = $(if $(KERNEL_FEW),$(if $(call spared,$1),,$(filter $(KERNEL_FEW),$(call kernel_n,$1)) any))
kernel_few_of = $(if $(arch_flags_$1),$(call kernel_few,$2))
# With tangent vectors, for MEGNO: these body counts, of these propagators. Their n is written t3.
KERNEL_TANGENT ?= 3 4 5
KERNEL_TANGENTS := mvs mvs_jacobi
kernel_tangent = $(if $(filter $1,$(KERNEL_TANGENTS)),$(patsubst %,t%,$(filter $(KERNEL_TANGENT),$(call kernel_n,$1))))
kernel_own = $(call kernel_n,$1) $(call kernel_tangent,$1) any
n_flags = $(patsubst %,-DN_BODIES=%,$(filter-out t% any,$1)) \
    $(patsubst t%,'-DN_BODIES=(2 * %)' -DSHOAL_VARIATIONAL=1,$(filter t%,$1))
# KERNEL_SAN: the propagators whose kernels are sanitized, in the sanitizers' build.
KERNEL_SAN ?= $(PROPAGATORS)
# The sanitizers' build, whose kernels take long, has the widths that only tests use, and those for a few systems, for the short steps alone.
spared = $(if $(filter $1,$(KERNEL_FULL)),,$(SAN_FLAGS))
test_lanes_of = $(if $(call spared,$2),,$(filter-out $(arch_lanes_$1) $(if $(call kernel_few_of,$1,$2),4),$(KERNEL_TEST_LANES)))
kernel_n = $(if $(filter $1,$(KERNEL_FULL)),$(KERNEL_N),$(filter $(KERNEL_SOME) $(KERNEL_SOME_$1),$(KERNEL_N)))
arch_flags_v3 := -march=x86-64-v3
arch_flags_v4 := -march=x86-64-v4 -mprefer-vector-width=512
arch_flags_neon :=
arch_flags_any :=
arch_lanes_v3 := 4
arch_lanes_v4 := 8
arch_lanes_neon := 2
arch_lanes_any := 1

# What chooses kernels; $B/kernel/choices has it of the last build.
KERNEL_CHOICES := KERNEL_ARCHS KERNEL_N KERNEL_SOME KERNEL_FEW KERNEL_TANGENT

# The native width for each body count and for any.
KERNELS := $(foreach p,$(PROPAGATORS),$(foreach a,$(KERNEL_ARCHS),\
    $(foreach n,$(call kernel_own,$p),$a_l$(arch_lanes_$a)_n$n_$p) \
    $(foreach n,$(call kernel_few_of,$a,$p),$a_few_n$n_$p)))
# Where the native width is four lanes, those for a few systems are in the same objects.
few_beside = $(if $(filter 4,$(arch_lanes_$1)),$(filter $2,$(call kernel_few_of,$1,$3)))
few_alone = $(if $(filter 4,$(arch_lanes_$1)),,$(call kernel_few_of,$1,$2))
KERNEL_OBJECTS := $(patsubst %,$B/kernel/%.o,$(filter-out \
    $(foreach a,$(KERNEL_ARCHS),$(if $(filter 4,$(arch_lanes_$a)),$a_few_%)),$(KERNELS)))

# The other widths, for any body count, are linked into the tests alone. Those for a few systems have four lanes.
TEST_KERNELS := $(strip $(foreach p,$(PROPAGATORS),$(foreach a,$(KERNEL_ARCHS),\
    $(foreach l,$(call test_lanes_of,$a,$p),$a_l$l_nany_$p))))

# What the kernels of all propagators call, of a width and a body count (monitors, extra forces): ARCH_lLANES_nN. Those
# with tangent vectors call what takes any body count.
part = $(word $1,$(subst _, ,$2))
shared = $(subst few,l4,$(call part,1,$1)_$(call part,2,$1)_$(patsubst nt%,nany,$(call part,3,$1)))
SHARED := $(sort $(foreach k,$(KERNELS),$(call shared,$k)))
SHARED_OBJECTS := $(SHARED:%=$B/kernel/shared_%.o)
TEST_SHARED := $(filter-out $(SHARED),$(sort $(foreach k,$(TEST_KERNELS),$(call shared,$k))))

# What depends on no propagator and takes any body count, of a width: ARCH_lLANES.
common = $(call part,1,$1)_$(call part,2,$(subst few,l4,$1))
COMMONS := $(sort $(foreach s,$(SHARED),$(call common,$s)))
COMMON_OBJECTS := $(COMMONS:%=$B/kernel/common_%.o)
TEST_COMMONS := $(filter-out $(COMMONS),$(sort $(foreach s,$(TEST_SHARED),$(call common,$s))))
TEST_KERNEL_OBJECTS := $(TEST_KERNELS:%=$B/kernel/%.o) $(TEST_SHARED:%=$B/kernel/shared_%.o) \
    $(TEST_COMMONS:%=$B/kernel/common_%.o)

# Those of one big system: by instruction set and precision (shoal_tiled_precision).
TILED_KERNELS := $(foreach a,$(KERNEL_ARCHS),$(foreach p,0 1 2,$a_$p))
TILED_OBJECTS := $(TILED_KERNELS:%=$B/kernel/tiled_%.o)

# ---- targets -------------------------------------------------------------------------------------------------------

OBJECTS := $(SOURCES:%.c=$B/%.o) $B/kernel_table.o $B/kernel_text.o $(KERNEL_OBJECTS) $(SHARED_OBJECTS) $(COMMON_OBJECTS) \
    $(TILED_OBJECTS)
LIB := $B/libshoal.a
SONAME := libshoal.so.$(SOVERSION)
SO := $B/libshoal.so.$(VERSION)
PROGRAM := $B/shoal
# A program of its own, where there is an MPI for the machine that is compiled for: `shoal` needs none.
MPICC ?= mpicc
MPI_PROGRAM := $(and $(filter $(CC_MACHINE),$(shell uname -m)),$(shell command -v $(MPICC) 2>/dev/null),$B/shoal-mpi)
MPI_COMPILE = OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC)
MPI_OBJECTS := $(patsubst %.c,$B/%.o,$(wildcard core/command/mpi/*.c))
TEST_PROGRAMS := $(TESTS:%.c=$B/%)
# What all of them are linked with; the archive gives the kernels that the table names.
TEST_OBJECTS := $(TEST_SUPPORT:%.c=$B/%.o) $B/tests/kernel_table.o $B/tests/libkernels.a
FUZZ_PROGRAMS := $(FUZZES:%.c=$B/%)
BENCH_PROGRAMS := $(BENCHES:%.c=$B/%)
EXAMPLE_PROGRAMS := $(EXAMPLES:%.c=$B/%)

.PHONY: all parts lib program examples tests fuzz fuzzers check check-gpu bench bench-gpu bench-precision demo install \
    uninstall bundle python wheel site reference clean info deps lint help FORCE

# Beside goals that build by themselves `all` does, too, lest two makes write the same files.
ifeq ($(filter-out all install bundle,$(MAKECMDGOALS)),)
all:
	@+$(submake) parts
else
all: parts
endif
parts: lib program
lib: $(LIB) $B/libshoal.so
program: $(PROGRAM) $(MPI_PROGRAM)
examples: $(EXAMPLE_PROGRAMS)
tests: $(TEST_PROGRAMS) $(FUZZ_PROGRAMS)
fuzzers: $(FUZZ_PROGRAMS)

$(LIB): $(OBJECTS) $B/objects
	$(call say,AR)rm -f $@ && $(AR) rcs $@ $(OBJECTS)

# The shared library exports exactly what the public header declares.
$B/exports.map: core/shoal.h Makefile
	$(Q)mkdir -p $(@D)
	$(Q){ echo 'SHOAL_$(SOVERSION) {'; echo ' global:'; \
	  sed -n '/^[a-z].*[( *]shoal_[a-z0-9_]*(/s/^[^(]*[ *]\(shoal_[a-z0-9_]*\)(.*/  \1;/p' core/shoal.h; \
	  echo ' local: *;'; echo '};'; } > $@

$(SO): $(OBJECTS) $B/objects $B/exports.map
	$(call say,LINK)$(CC) -gz -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$B/exports.map $(SAN_FLAGS) $(CFLAGS) \
	    $(LDFLAGS) -o $@ $(OBJECTS) $(LIBS)

$B/libshoal.so: $(SO)
	$(Q)ln -sf $(notdir $(SO)) $B/$(SONAME) && ln -sf $(SONAME) $@

$(PROGRAM): $(COMMANDS:%.c=$B/%.o) $(LIB)
	$(call say,LINK)$(CC) -gz $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(MPI_OBJECTS): $B/%.o: %.c $B/flags | $B/.complete $(MADE_TEXTS:%=$B/%)
	$(Q)mkdir -p $(@D)
	$(call say,MPICC)$(MPI_COMPILE) $(HOST_FLAGS) $(CPPFLAGS) $(CFLAGS) $(DEP_FLAGS) -c -o $@ $<

$B/shoal-mpi: $(MPI_OBJECTS) $(addprefix $B/core/command/,command.o command_big.o command_run.o) $(LIB)
	$(call say,LINK)$(MPI_COMPILE) -gz $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# What the compiler is told, kept in files that are made again only when it changes: another CFLAGS rebuilds what it
# must, another list of kernels the table of them. Whether warnings are errors changes no object.
same = $(if $(subst x$1,,x$2)$(subst x$2,,x$1),,yes)
define remember
$1: $(if $(call same,$(strip $(file <$1)),$(strip $2)),,FORCE)
	$$(Q)mkdir -p $$(@D) && printf '%s\n' '$(strip $2)' > $$@
endef
compiled_with = $(CC) $(CC_MAJOR) $(filter-out -Werror,$1) $(CFLAGS) $(CPPFLAGS)
$(eval $(call remember,$B/flags,$(call compiled_with,$(HOST_FLAGS))))
$(eval $(call remember,$B/kernel/flags,$(call compiled_with,$(KERNEL_FLAGS))))
$(eval $(call remember,$B/kernel/list,$(KERNELS) $(TILED_KERNELS)))
$(eval $(call remember,$B/kernel/choices,$(foreach v,$(KERNEL_CHOICES),$v="$(strip $($v))")))
$(eval $(call remember,$B/texts/list,$(TEXTS)))
$(eval $(call remember,$B/objects,$(OBJECTS)))
$(eval $(call remember,$B/tests/list,$(TEST_KERNELS)))
$(eval $(call remember,$B/tests/objects,$(TEST_KERNEL_OBJECTS)))

# Headers and libraries that are missing are named before the first compilation.
$B/.complete: tools/deps
	$(Q)CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' tools/deps require build && mkdir -p $(@D) && touch $@

$B/%.o: %.c $B/flags | $B/.complete $(MADE_TEXTS:%=$B/%)
	$(Q)mkdir -p $(@D)
	$(call say,CC)$(CC) $(HOST_FLAGS) $(CMOCKA_CFLAGS) $(if $(filter tests/%,$<),-Itests) $(if $(filter examples/%,$<),-Icore) \
	    $(CPPFLAGS) $(CFLAGS) $(DEP_FLAGS) -c -o $@ $<

# What kernels that are compiled at run time need to give the same bits.
$B/core/plug/plugin.o: CPPFLAGS += -DSHOAL_KERNEL_FLAGS='"$(KERNEL_ARITHMETIC)"' -DSHOAL_FLAGS_V3='"$(arch_flags_v3)"' \
    -DSHOAL_FLAGS_V4='"$(arch_flags_v4)"'

# The arithmetic of AVX-512, whose seed has 14 bits.
ifeq ($(CC_MACHINE),x86_64)
$B/tests/test_lane.o: CPPFLAGS += $(arch_flags_v4)
endif

# ARCH, width, n, PROPAGATOR, flags
define kernel_rule
$B/kernel/$1_$2_n$3_$4.o: core/engine/kernel_cpu.c integrators/$4.kern.h $B/kernel/flags | $B/.complete $(MADE_TEXTS:%=$B/%)
	$$(call say,KERNEL)$$(CC) $$(filter-out $(if $(filter $4,$(KERNEL_SAN)),,$(SAN_FLAGS)),$$(KERNEL_FLAGS)) \
	    $$(arch_flags_$1) $5 $(call n_flags,$3) \
	    -DKERNEL_SHARED=$(call shared,$1_$2_n$3) -DKERNEL_COMMON=$(call common,$1_$2) \
	    -DKERNEL_PREPARE=shoal_prepare_$1_$2_$4 -DKERNEL_FINISH=shoal_finish_$1_$2_$4 \
	    -DPROPAGATOR=$4 -DSHOAL_KERNELS=shoal_kernels_$1_$2_n$3_$4 -DSHOAL_ARCH=$1 \
	    $$(CPPFLAGS) $$(CFLAGS) $$(DEP_FLAGS) -c -o $$@ $$<
endef
$(foreach p,$(PROPAGATORS),$(foreach a,$(KERNEL_ARCHS),\
  $(foreach n,$(call kernel_own,$p),$(eval $(call kernel_rule,$a,l$(arch_lanes_$a),$n,$p,-DLANES=$(arch_lanes_$a) \
    $(if $(call few_beside,$a,$n,$p),-DSHOAL_KERNELS_FEW=shoal_kernels_$a_few_n$n_$p))))\
  $(foreach n,$(call few_alone,$a,$p),$(eval $(call kernel_rule,$a,few,$n,$p,-DLANES=4 -DLANE_GROUPS=1 -DKERNEL_USE=SHOAL_CPU_FEW)))\
  $(foreach l,$(call test_lanes_of,$a,$p),$(eval $(call kernel_rule,$a,l$l,any,$p,-O1 -DLANES=$l)))))

# NAME, ARCH, lLANES, nN
define shared_rule
$B/kernel/shared_$1.o: core/engine/kernel_shared.c $B/kernel/flags | $B/.complete $(MADE_TEXTS:%=$B/%)
	$$(call say,KERNEL)$$(CC) $$(KERNEL_FLAGS) $$(arch_flags_$2) $(patsubst l%,-DLANES=%,$3) $(patsubst n%,-DN_BODIES=%,$(filter-out nany,$4)) \
	    -DKERNEL_SHARED=$1 -DKERNEL_COMMON=$(call common,$1) $$(CPPFLAGS) $$(CFLAGS) $$(DEP_FLAGS) -c -o $$@ $$<
endef
$(foreach s,$(SHARED) $(TEST_SHARED),$(eval $(call shared_rule,$s,$(call part,1,$s),$(call part,2,$s),$(call part,3,$s))))

# NAME, ARCH, lLANES
define common_rule
$B/kernel/common_$1.o: core/engine/kernel_common.c $B/kernel/flags | $B/.complete $(MADE_TEXTS:%=$B/%)
	$$(call say,KERNEL)$$(CC) $$(KERNEL_FLAGS) $$(arch_flags_$2) $(patsubst l%,-DLANES=%,$3) \
	    -DKERNEL_COMMON=$1 $$(CPPFLAGS) $$(CFLAGS) $$(DEP_FLAGS) -c -o $$@ $$<
endef
$(foreach c,$(COMMONS) $(TEST_COMMONS),$(eval $(call common_rule,$c,$(call part,1,$c),$(call part,2,$c))))

define tiled_rule
$B/kernel/tiled_$1_$2.o: gravitation/tiled/tiled_kernel.c $B/kernel/flags | $B/.complete $(MADE_TEXTS:%=$B/%)
	$$(call say,KERNEL)$$(CC) $$(KERNEL_FLAGS) $$(arch_flags_$1) -DTILED_PRECISION=$2 \
	    -DTILED_KERNELS=shoal_tiled_$1_$2 -DSHOAL_ARCH=$1 $$(CPPFLAGS) $$(CFLAGS) $$(DEP_FLAGS) -c -o $$@ $$<
endef
$(foreach a,$(KERNEL_ARCHS),$(foreach p,0 1 2,$(eval $(call tiled_rule,$a,$p))))

# TYPE, prefix, names, table: C text of a table that ends in 0
table_text = $(if $(strip $3),printf 'extern const $1 $2%s;\n' $3; echo;) \
    echo 'const $1 *const $4[] = {'; $(if $(strip $3),printf '    &$2%s$(comma)\n' $3;) echo '    0,'; echo '};'; echo;
comma := ,
$B/kernel_table.c: $B/kernel/list $B/kernel/choices
	$(Q){ echo '/* Made by the Makefile: every kernel set in this build. */'; \
	  echo '#include "gravitation/tiled/tiled_cpu.h"'; echo '#include "core/kernel/compiled.h"'; echo; \
	  $(call table_text,shoal_cpu_kernels,shoal_kernels_,$(KERNELS),shoal_cpu_kernel_table) \
	  $(call table_text,tiled_cpu_kernels,shoal_tiled_,$(TILED_KERNELS),shoal_tiled_cpu_table) } > $@

$B/tests/kernel_table.c: $B/tests/list
	$(Q){ echo '/* Made by the Makefile: the kernel sets that only tests use. */'; \
	  echo '#include "core/kernel/compiled.h"'; echo; \
	  $(call table_text,shoal_cpu_kernels,shoal_kernels_,$(TEST_KERNELS),shoal_cpu_test_kernel_table) } > $@

list_texts = $(Q)mkdir -p $(@D) && sed -n 's/^$1(\([a-z0-9_]*\).*/\#include "$2\/\1.kern.h"/p' $< > $@
$B/texts/monitors.kern.h: monitors/list.h
	$(call list_texts,MONITOR,monitors)
$B/texts/forces.kern.h: gravitation/list.h
	$(call list_texts,FORCE,gravitation)

# The kernel text as data, for the compiler that runs on the user's machine.
$B/kernel_text.c: $(TEXTS) $(MADE_TEXTS:%=$B/%) $B/texts/list
	$(Q){ echo '/* Made by the Makefile: the kernel text. */'; echo '#include "core/kernel/compiled.h"'; \
	  i=0; for f in $(TEXTS) $(MADE_TEXTS:%=$B/%); do echo "static const unsigned char text_$$i[] = {"; \
	    od -An -v -tu1 "$$f" | sed 's/^ *//; s/  */,/g; s/$$/,/'; echo '0};'; i=$$((i + 1)); done; \
	  echo 'const shoal_text shoal_texts[] = {'; \
	  i=0; for f in $(TEXTS) $(MADE_TEXTS); do echo "    {\"$$f\", (const char *)text_$$i},"; i=$$((i + 1)); done; \
	  echo '    {0, 0},'; echo '};'; } > $@

$B/kernel_table.o $B/kernel_text.o $B/tests/kernel_table.o: $B/%.o: $B/%.c $B/flags | $B/.complete $(MADE_TEXTS:%=$B/%)
	$(call say,CC)$(CC) $(HOST_FLAGS) $(CPPFLAGS) $(CFLAGS) $(DEP_FLAGS) -c -o $@ $<

$B/tests/libkernels.a: $(TEST_KERNEL_OBJECTS) $B/tests/objects
	$(call say,AR)rm -f $@ && $(AR) rcs $@ $(TEST_KERNEL_OBJECTS)

$(TEST_PROGRAMS): $B/tests/%: $B/tests/%.o $(TEST_OBJECTS) $(LIB)
	$(call say,LINK)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CMOCKA_LIBS) $(LIBS)

fuzzing := $(if $(filter fuzzer,$(SAN)),-fsanitize=fuzzer) -Wl,--wrap=shoal_file_open
FUZZ_OBJECTS := $B/tests/fuzz/fuzz.o $B/tests/fuzz/edits.o $(if $(filter fuzzer,$(SAN)),,$B/tests/fuzz/driver.o)
$(FUZZ_PROGRAMS): $B/%: $B/%.o $(FUZZ_OBJECTS) $(LIB)
	$(call say,LINK)$(CC) $(SAN_FLAGS) $(fuzzing) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BENCH_PROGRAMS) $(EXAMPLE_PROGRAMS): $B/%: $B/%.o $(LIB)
	$(call say,LINK)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# Keep the objects of programs, or make deletes them as intermediate files.
.SECONDARY:

# ---- check, bench, demo --------------------------------------------------------------------------------------------
# These start make a second time: what they install changes what pkg-config says.

deps:
	@CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' tools/deps install check

# Tests run the kernels for this machine's instruction set; a later `make` adds the others.
CHECK_ARCHS := $(if $(filter command line,$(origin KERNEL_ARCHS)),$(KERNEL_ARCHS),native)
check check-gpu:
	@CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' tools/deps install check
	@+$(submake) parts tests KERNEL_ARCHS=$(CHECK_ARCHS)
	@+$(if $(filter check-gpu,$@),SHOAL_TEST_GPU=1) KERNEL_ARCHS=$(CHECK_ARCHS) CC='$(CC)' MAKE='$(MAKE)' tests/run $B

# Harnesses with libFuzzer, without kernels, SECONDS each; new inputs are kept in build/fuzzer/corpus.
fuzz:
	@+$(submake) fuzzers CC=clang SAN=fuzzer KERNEL_ARCHS=
	@tests/fuzz/campaign $(BUILD)/fuzzer $(FUZZ)

bench:
	@+$(submake) parts $(BENCH_PROGRAMS)
	@$(if $(BENCH),$(PROGRAM) bench $(BENCH),tests/bench/all.sh $(PROGRAM) '$(REBOUND)')

# The work models and slices of this machine's GPU.
bench-gpu:
	@+$(submake) parts
	@tests/bench/gpu.sh $(PROGRAM)

# Energy error against cost, every propagator, and with REBOUND=DIR REBOUND's: build/work_precision.csv and .png.
bench-precision:
	@+$(submake) parts $(BENCH_PROGRAMS)
	@BUILD=$B tests/bench/precision.sh run $(REBOUND) | tee $B/work_precision.csv
	@tests/bench/precision.sh plot $B/work_precision.png $B/work_precision.csv

# Where nothing is built yet the demo compiles kernels of this machine's instruction set for many systems, of up to four
# bodies, and for any number of bodies; a later `make` adds the others. What is built keeps its kernels.
DEMO := $B/demo/sun_jupiter_saturn
DEMO_KERNELS := $(or $(if $(wildcard $(PROGRAM)),$(strip $(file <$B/kernel/choices))),\
    KERNEL_ARCHS=native KERNEL_N="2 3 4" KERNEL_FEW=)
demo:
	@CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' tools/deps install demo
	@+$(submake) parts $(DEMO_KERNELS)
	@mkdir -p $B/demo && rm -f $(DEMO).h5 $(DEMO).h5.journal $(DEMO).png
	@$(PROGRAM) run configs/sun_jupiter_saturn.cfg output.file=$(DEMO).h5
	@test -t 1 || $(PROGRAM) plot $(DEMO).h5

# ---- install, bundle -----------------------------------------------------------------------------------------------

install: all
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(libdir)/pkgconfig' '$(DESTDIR)$(includedir)' \
	    '$(DESTDIR)$(datadir)/shoal/configs' '$(DESTDIR)$(man1dir)' '$(DESTDIR)$(completiondir)'
	$(INSTALL) -m 755 $(PROGRAM) '$(DESTDIR)$(bindir)/shoal'
	$(if $(MPI_PROGRAM),$(INSTALL) -m 755 $(MPI_PROGRAM) '$(DESTDIR)$(bindir)/shoal-mpi')
	$(INSTALL) -m 644 core/shoal.h '$(DESTDIR)$(includedir)/shoal.h'
	$(INSTALL) -m 644 $(LIB) '$(DESTDIR)$(libdir)/libshoal.a'
	$(INSTALL) -m 755 $(SO) '$(DESTDIR)$(libdir)/$(notdir $(SO))'
	ln -sf $(notdir $(SO)) '$(DESTDIR)$(libdir)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(libdir)/libshoal.so'
	$(INSTALL) -m 644 $(wildcard configs/*) '$(DESTDIR)$(datadir)/shoal/configs'
	tools/man $(PROGRAM) > '$(DESTDIR)$(man1dir)/shoal.1'
	$(INSTALL) -m 644 tools/completion.bash '$(DESTDIR)$(completiondir)/shoal'
	{ echo 'prefix=$(prefix)'; echo 'libdir=$(libdir)'; echo 'includedir=$(includedir)'; echo; echo 'Name: shoal'; \
	  echo 'Description: ensembles of gravitational few-body systems'; echo 'Version: $(VERSION)'; \
	  echo 'Requires.private: $(MODULES)'; echo 'Cflags: -I$${includedir}'; echo 'Libs: -L$${libdir} -lshoal'; \
	  echo 'Libs.private: -fopenmp -ldl -lm'; } > '$(DESTDIR)$(libdir)/pkgconfig/shoal.pc'

uninstall:
	rm -f '$(DESTDIR)$(bindir)/shoal' '$(DESTDIR)$(bindir)/shoal-mpi' \
	    '$(DESTDIR)$(includedir)/shoal.h' '$(DESTDIR)$(libdir)/libshoal.a' \
	    '$(DESTDIR)$(libdir)/$(notdir $(SO))' '$(DESTDIR)$(libdir)/$(SONAME)' '$(DESTDIR)$(libdir)/libshoal.so' \
	    '$(DESTDIR)$(libdir)/pkgconfig/shoal.pc' '$(DESTDIR)$(man1dir)/shoal.1' '$(DESTDIR)$(completiondir)/shoal'
	rm -rf '$(DESTDIR)$(datadir)/shoal'

# WITH_TESTS=1 puts the test programs and their data in as well, for a machine with a GPU and nothing else.
bundle: all
	@+$(if $(filter-out 0,$(WITH_TESTS)),$(submake) tests)
	@CC='$(CC)' LDFLAGS='$(LDFLAGS)' SAN_FLAGS='$(SAN_FLAGS)' tools/bundle $B '$(VERSION)' \
	    '$(LIBS)' $(if $(filter-out 0,$(WITH_TESTS)),'$(CMOCKA_LIBS)' '$(TEST_OBJECTS)')

# ---- python --------------------------------------------------------------------------------------------------------
# The package has one library with the program inside, so that the kernels are in it once: the program is a start of
# the library's `main`. Both find the libraries beside them, by the old kind of rpath: see tools/bundle.

PYTHON ?= python3
PYTHON_LINK = $(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -Wl,--disable-new-dtags '-Wl,-rpath,$$ORIGIN' -o $@

$B/python/exports.map: $B/exports.map
	$(Q)mkdir -p $(@D) && sed 's/^ local/  main;\n local/' $< > $@

$B/python/libshoal.so: $(OBJECTS) $(COMMANDS:%.c=$B/%.o) $B/objects $B/python/exports.map
	$(call say,LINK)$(PYTHON_LINK) -shared -Wl,-soname,$(@F) -Wl,--version-script=$B/python/exports.map \
	    $(OBJECTS) $(COMMANDS:%.c=$B/%.o) $(LIBS)

$B/python/shoal: $B/python/libshoal.so
	$(call say,LINK)$(PYTHON_LINK) $< $(LIBS)

python: $B/python/shoal

# For any machine, with all kernels, unless they are chosen; `pip install .` takes those of this machine.
wheel:
	@+$(submake) python
	@PYTHON='$(PYTHON)' tools/wheel $B

# The documentation as HTML.
site: python
	@SHOAL_LIBRARY='$(abspath $B)/python/libshoal.so' PYTHON='$(PYTHON)' tools/site $B

# Pages that are written from the program and the header.
reference: program
	$(PROGRAM) explain --all > docs/reference.md
	tools/api core/shoal.h > docs/api.md

# clang-tidy reads the host's files as they are compiled, with gcc's header of OpenMP where clang has none.
lint: $(MADE_TEXTS:%=$B/%)
	@mkdir -p $B/lint && ln -sf '$(shell $(CC) -print-file-name=include/omp.h)' $B/lint/omp.h
	@HOST_FLAGS='$(filter-out -Werror,$(HOST_FLAGS)) $(CMOCKA_CFLAGS) -Itests -Icore \
	    -idirafter $B/lint $(patsubst -I%,-isystem %,$(filter -I%,$(shell $(MPICC) --showme:compile 2>/dev/null))) \
	    -DSHOAL_KERNEL_FLAGS="" -DSHOAL_FLAGS_V3="v3" -DSHOAL_FLAGS_V4="v4"' tools/lint

clean:
	rm -rf $(BUILD)

info: program
	@$(PROGRAM) info

print-%:
	@echo '$($*)'

help:
	@echo 'make              the library, the shared library and the program, in $(BUILD)/ (needs no root)'
	@echo 'make check        install what is missing, build, run every test'
	@echo 'make fuzz         readers of files and options with libFuzzer (clang), a minute each (FUZZ="NAME SECONDS")'
	@echo 'make check-gpu    the same; tests that need a GPU fail where there is none'
	@echo 'make demo         install what is missing, build, map where Saturn could live'
	@echo 'make bench        timings with checked answers, CPU and GPU (BENCH="CASE ... --csv": these only); REBOUND=DIR: and REBOUND'
	@echo 'make bench-gpu    the work models of the GPU, tuned, as a table, and slices there'
	@echo 'make bench-precision   energy error against cost of every propagator; REBOUND=DIR: and of REBOUND'
	@echo 'make install      into prefix=$(prefix) (DESTDIR=); uninstall takes it out again'
	@echo 'make bundle       a tarball with its libraries for machines that have none (WITH_TESTS=1: and the tests)'
	@echo 'make wheel        the Python package, in $(BUILD)/; here and now: pip install .'
	@echo 'make site         the documentation as HTML, in $(BUILD)/site/html (needs Sphinx, myst-nb and furo)'
	@echo 'make examples     the programs of examples/'
	@echo 'make reference    writes docs/reference.md and docs/api.md anew'
	@echo 'make lint         the form of the sources: clang-format, clang-tidy, 120 columns, short functions'
	@echo 'make info         what this build and this machine can do'
	@echo 'make deps         install the packages that are needed'
	@echo 'make clean        remove $(BUILD)/'
	@echo 'also: V=1  SAN=1|thread  BUILD=DIR  WERROR=  CFLAGS=...  KERNEL_ARCHS="v3"  KERNEL_N="2 3"  print-VARIABLE'

-include $(OBJECTS:.o=.d) $(MPI_OBJECTS:.o=.d) $(TEST_KERNEL_OBJECTS:.o=.d) $(patsubst %.c,$B/%.d,$(COMMANDS) $(TESTS) $(TEST_SUPPORT) $(FUZZES) tests/fuzz/fuzz.c tests/fuzz/edits.c tests/fuzz/driver.c $(BENCHES) $(EXAMPLES))
