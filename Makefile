# `make` lists the targets. Nothing is installed outside $(VENV), except the jars that the targets for Flink fetch.

PYTHON    ?= python3
VENV      ?= .venv
# The budget of a campaign: what the first implementation takes, shared by all components.
STEPS     ?= 1200000
# auto: Spark where a Java 17 or 21 is found, else processes (the command then says how to install Java).
RUNNER    ?= auto
# Searches at once; a number of cores.
PROCESSES ?= 2

# A campaign of a night: for how many minutes blocks are begun, its seed, and where its summary goes.
MINUTES   ?= 35
SEED      ?= $(shell date +%F)
SUMMARY   ?= $(or $(GITHUB_STEP_SUMMARY),build/night-summary.md)

# What the kill matrix finds out about each known bug: seeds, what exploration says, another process, operator mutants.
MATRIX    ?= --seeds 20 --optimal --confirm --operators 300

# The commit that `make pace` compares with.
BEFORE    ?= HEAD~1

# What is measured by `make coverage`, and where the table is written.
TESTS     ?= tests
COVERAGE  ?= reports/coverage.md

REPORT      := build/campaign
BIN         := $(VENV)/bin
STAMP       := $(VENV)/.installed
# pytest translates each module with tests, and all of Hypothesis, in each process that it runs in, unless it may keep
# what it has translated; the tests start many processes of pytest.
PYTEST      := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadgroup
CONFORMANCE := $(BIN)/conformance

.DEFAULT_GOAL := help
.PHONY: announce help venv campaign test test-spark test-flink flink-reports flink-jobs findings flink-pipeline flink-searches flink-causes lint format docs links coverage release pace bench kill-matrix likely-causes reach outside episodes episodes-spark faults domains ablation hunt suite-mutants hypothesis jobs variants exercise corpus explore trials nightly clean jdk test-browser campaign-example campaign-bugs campaign-nightly

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "Variables: PYTHON=$(PYTHON) VENV=$(VENV) STEPS=$(STEPS) RUNNER=$(RUNNER)"

venv: $(STAMP) ## create the virtual environment; again when pyproject.toml changes

$(STAMP): pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed, but '$(PYTHON)' is: $$("$(PYTHON)" --version 2>&1 || true)"; \
	  echo "  Debian, Ubuntu:  sudo apt-get install python3.11 python3.11-venv && make PYTHON=python3.11"; \
	  echo "  Fedora:          sudo dnf install python3.12 && make PYTHON=python3.12"; \
	  echo "  macOS:           brew install python@3.12 && make PYTHON=python3.12"; \
	  exit 2; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: its venv module is missing."; \
	  echo "  Debian, Ubuntu:  sudo apt-get install" \
	    "$$("$(PYTHON)" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"; \
	  echo "  Fedora:          sudo dnf install python3-libs"; \
	  exit 2; }
	@echo "Installing into $(VENV)"
	@"$(PYTHON)" -m venv "$(VENV)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[spark,dev]'
	@touch $@

# Measured on two idle cores. The variables of a target hold for its prerequisites too, so that `make test` says its own.
TAKES := make campaign: about a minute on two idle cores, without the installation.

announce:
	@echo "$(TAKES)"

# The command refuses to overwrite a campaign. The folder is written out here, so that no variable can widen the `rm`.
campaign: announce venv ## STEPS steps on two references and a known bug; finding the bug is expected
	@rm -rf build/campaign
	$(CONFORMANCE) campaign start $(REPORT) --steps $(STEPS) --runner $(RUNNER) \
	  --implementation reference --implementation reference-recover-first --implementation known-bug:B-01

# The references, and a known bug, which a campaign must find. The campaign of the night before is compared with.
campaign-nightly: venv ## a campaign of MINUTES minutes into build/night, compared with the one that was there
	@rm -rf build/last-night
	@if [ -d build/night ]; then mv build/night build/last-night; fi
	$(CONFORMANCE) campaign start build/night --minutes $(MINUTES) --seed "$(SEED)" --runner $(RUNNER) \
	  --implementation reference --implementation reference-recover-first --implementation reference-in-memory \
	  --implementation known-bug:B-01 $(if $(wildcard build/night/plan.json),--since build/last-night) \
	  --ctrf build/night-ctrf.json --summary "$(SUMMARY)"

# The campaign of the tests is small: the tests search longer themselves.
test: STEPS := 40000
test: TAKES := make test: about 10 minutes on two idle cores, without the installation.
# Many tests start processes. Compiled once, each of them starts in half the time, also if Python may not write bytecode.
test: campaign ## the test command: a small campaign, then every test that needs no JDK and no patience
	$(BIN)/python -m compileall -q -j 0 conformance reference_impl strategies tests
	$(PYTEST)
	@echo "Not run: flink (make test-flink), slow (make nightly), browser (make test-browser), benchmark (make bench)."

test-spark: venv ## a campaign and the tests on embedded Spark; needs Java 17 or 21
	$(MAKE) campaign RUNNER=spark
	$(PYTEST) -m "spark and not benchmark"

test-flink: jdk venv ## the tests and the suite against the released Flink jars; needs a JDK 17 or 21
	$(BIN)/python -m conformance.bridges.flink fetch 2.3.0 2.2.1 1.20.5
	$(PYTEST) -m "flink and not benchmark"
	$(call flink-report,2.3.0,reference-in-memory,build)
	$(call flink-report,2.2.1,reference-recover-first,build)
	$(call flink-rescaling-report,1.20.5,build)
	$(call flink-coordinator-report,2.3.0,build)
	$(call flink-coordinator-report,2.2.1,build)
	$(call flink-coordinator-report,1.20.5,build)

flink-reports: jdk venv ## the published reports on the released Flink, into reports/
	$(BIN)/python -m conformance.bridges.flink fetch 2.3.0 2.2.1 1.20.5
	$(call flink-report,2.3.0,reference-in-memory,reports)
	$(call flink-report,2.2.1,reference-recover-first,reports)
	$(call flink-rescaling-report,1.20.5,reports)
	$(call flink-coordinator-report,2.3.0,reports)
	$(call flink-coordinator-report,2.2.1,reports)
	$(call flink-coordinator-report,1.20.5,reports)
	$(call flink-pipeline-report,2.3.0)
	$(call flink-pipeline-report,2.2.1)
	$(call flink-pipeline-report,1.20.5)

flink-jobs: jdk venv ## whole jobs on the released Flink, into reports/; takes half an hour
	$(BIN)/python -m conformance.bridges.flink fetch 2.3.0 2.2.1 1.20.5
	$(BIN)/python -m conformance.bridges.flink jobs --minutes 30 --report reports/coordinator-jobs.md || [ $$? -eq 1 ]

findings: venv ## every finding in the released Flink, one line each, into reports/
	$(BIN)/python -m building.findings

flink-pipeline: jdk venv ## chains of restores of whole jobs on the released Flink, into reports/; takes an hour
	$(BIN)/python -m conformance.bridges.flink fetch 2.3.0 2.2.1
	$(BIN)/python -m building.flink_pipeline --report reports/flink-pipeline.md

flink-searches: jdk venv ## each component of each release, 20,000 scenarios with each of three seeds, into reports/; hours
	$(BIN)/python -m conformance.bridges.flink fetch 2.3.0 2.2.1 1.20.5
	$(BIN)/python -m building.flink_searches --report reports/flink-searches.md || [ $$? -eq 1 ]

flink-causes: jdk venv ## what tasks of the released Flink fail of, in 1,200 episodes, into reports/; takes half an hour
	$(BIN)/python -m conformance.bridges.flink fetch 2.3.0 2.2.1
	$(BIN)/python -m building.flink_causes --report reports/flink-causes.md

# A release, the reference of the same design, and a folder: exit status 0 only if nothing failed but what is known.
define flink-report
	$(CONFORMANCE) check --scenarios 2000 --implementation flink-component@$(1) --against $(2) \
	  --known-failures conformance/bridges/flink/known_failures/$(1).toml --report $(3)/flink-$(1).md
endef

# A release of which only what belongs to a change of parallelism can be tested, and a folder.
define flink-rescaling-report
	$(CONFORMANCE) check --scenarios 2000 --implementation flink-component@$(1) --component assignment \
	  --component filter \
	  --known-failures conformance/bridges/flink/known_failures/$(1).toml --report $(2)/flink-$(1).md
endef

# A release and a folder; the same for its operator coordinators.
define flink-coordinator-report
	$(CONFORMANCE) check --scenarios 2000 --implementation flink-coordinator@$(1) --component coordinator \
	  --known-failures conformance/bridges/flink/known_failures/$(1).toml --report $(2)/flink-coordinator-$(1).md
endef

# A release; the same for whole jobs, which take a second and more each. Their threads work on their own, so that a finding
# may show in one run and not in the next: such a one is in no list, and ends nothing here.
define flink-pipeline-report
	$(CONFORMANCE) check --scenarios 120 --implementation flink-pipeline@$(1) --component pipeline \
	  --known-failures conformance/bridges/flink/known_failures/$(1).toml --report reports/flink-pipeline-$(1).md \
	  || { status=$$?; [ $$status -eq 1 ] || [ $$status -eq 3 ]; }
endef

jdk:
	@javac="$${JAVA_HOME:-/nonexistent}/bin/javac"; [ -x "$$javac" ] || javac=javac; \
	version=$$("$$javac" -version 2>&1 || true); \
	case "$$version" in \
	  "javac 17"|"javac 17."*|"javac 21"|"javac 21."*) ;; \
	  *) echo "A JDK 17 or 21 is needed, but '$$javac -version' says: $$version"; \
	     echo "  Debian, Ubuntu:  sudo apt-get install openjdk-17-jdk-headless"; \
	     echo "  Fedora:          sudo dnf install java-21-openjdk-devel"; \
	     echo "  macOS:           brew install openjdk@21, then set JAVA_HOME to it"; \
	     exit 2;; \
	esac

lint: venv ## formatting, linting and types; changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: venv ## reformat, and fix what ruff can fix safely
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# All pages are read anew (-E), since a page that has not changed would not be complained about again.
docs: venv ## the documentation site, into build/site; a broken link is an error
	$(BIN)/sphinx-build -W --keep-going -q -E -j auto -d build/doctrees -c building . build/site
	@echo "Open build/site/index.html"

# Reads every page as `docs` does, and writes none, in half the time.
links: venv ## every page of the documentation is read; a broken link is an error
	$(BIN)/sphinx-build -b dummy -W --keep-going -q -E -j auto -d build/doctrees-of-links -c building . build/links

# One process, so that nothing depends on how tests are shared out; the processes that tests start are measured, too.
coverage: venv ## branch coverage of the tests, by room, into reports/; slow, so it runs at night
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -n 0 $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o build/coverage/measured.json
	$(BIN)/python -m building.branches build/coverage/measured.json $(COVERAGE)

release: venv ## build and check what is published, into dist; uploads nothing
	$(BIN)/python -m building.release

test-browser: venv ## the page in a real browser; needs chromium
	$(BIN)/pytest -n 0 -m browser tests/reporting/test_page_in_a_browser.py

campaign-example: venv ## the page and the bug reports of a campaign with three planted bugs, into reports/
	rm -rf build/campaign-example
	$(CONFORMANCE) campaign start build/campaign-example --scenarios 300 --runner inline --component subpartition \
	  --component gate --component barrier-handler --implementation reference \
	  --implementation reference-recover-first --implementation known-bug:B-01 --implementation known-bug:B-G84 \
	  --implementation known-bug:B-45
	$(CONFORMANCE) campaign report build/campaign-example -o reports/campaign-example

# More scenarios than the rarest known bug takes with seed 0: tests/corpus/first_hits.toml.
campaign-bugs: venv ## a campaign of all references and all known bugs, its page and summary into reports/; half an hour
	$(CONFORMANCE) campaign $(if $(wildcard build/campaign-bugs/plan.json),resume build/campaign-bugs,start \
	  build/campaign-bugs --scenarios 10000 --until-found --implementation reference \
	  --implementation reference-recover-first --implementation reference-in-memory --implementation known-bugs) \
	  --runner $(RUNNER)
	$(CONFORMANCE) campaign report build/campaign-bugs -o build/campaign-bugs-page --summary build/campaign-bugs.md; \
	  status=$$?; printf '# A campaign of all known bugs\n\n' | cat - build/campaign-bugs.md > reports/campaign-bugs.md; \
	  exit $$status

pace: venv ## the speed of every search against the commit BEFORE, into reports/performance.md; five minutes
	$(BIN)/python -m tests.benchmarks.paces $(BEFORE) reports/performance.md

bench: venv ## the benchmarks, one at a time
	$(BIN)/pytest -m benchmark

# Results are kept in a folder: after a stop, the same command goes on. Other code needs another folder.
kept = --into build/$(1) --runner $(RUNNER) --processes $(PROCESSES)

# A page and its data. Only the rows are made anew that depend on what has changed.
renewed = --earlier reports/$(1).json --json reports/$(1).json --report reports/$(1).md

# Ctrl-C ends the searches: the page is then about a fair sample of the bugs, and the same command goes on.
kill-matrix: venv ## every known bug, over 20 seeds (or MATRIX="--seeds 5 --reduced 1"), into reports/; hours
	$(CONFORMANCE) bugs $(MATRIX) $(call kept,kill-matrix) \
	  --reasons reports/operator-mutants.toml $(call renewed,kill-matrix)

faults: venv ## which fault reaches each sentence about a failure, into reports/; minutes
	$(BIN)/python -m tests.components.failing reports/faults.md

hypothesis: venv ## how well Hypothesis finds and shrinks 20 known bugs, into reports/; ten minutes
	$(BIN)/python -m tests.nightly.hypothesis_power reports/hypothesis.md

jobs: venv ## scenarios of whole jobs, and the shortest one of each of their known bugs, drawn, into reports/
	$(BIN)/python -m tests.reporting.job_page reports/jobs.md

likely-causes: venv ## how well findings are grouped by likely cause, on all known bugs, into reports/
	$(BIN)/python -m tests.engines.grouping reports/likely-causes.md --processes $(PROCESSES)

reach: venv ## which known bugs of the others each component finds, into reports/
	$(BIN)/python -m tests.hunts.reach reports/reach.md --into build/reach --processes $(PROCESSES)

outside: venv ## which known bugs of jobs are found in an engine that shows less of itself, into reports/; minutes
	$(BIN)/python -m tests.hunts.outside reports/outside.md --into build/outside --processes $(PROCESSES)

ablation: venv ## what each prefix, bias and manner of a search is good for, on known bugs, into reports/; hours
	$(BIN)/python -m tests.hunts.ablation reports/ablation.md --into build/ablation --processes $(PROCESSES)

domains: venv ## which values a search draws, and which never together, into reports/
	$(BIN)/python -m tests.hunts.domains reports/domains.md --into build/domains --processes $(PROCESSES)

suite-mutants: venv ## operator mutants of the suite's own engines, judged by the tests of their room, into reports/
	$(BIN)/python -m tests.hunts.suite_mutants reports/suite-mutants.md --into build/suite-mutants --processes $(PROCESSES)

episodes: venv ## 500 episodes of whole jobs on Bytewax, which needs Python before 3.13, into reports/; half an hour
	$(BIN)/python -m pip install -q -e '.[bytewax]'
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/conformance episodes "python examples/bytewax/adapter.py" --episodes 500 \
	  --seed bytewax --report reports/episodes.md || [ $$? -eq 1 ]

episodes-spark: jdk venv ## 500 episodes of whole jobs on Spark Structured Streaming, into reports/; an hour or more
	rm -rf build/episodes-spark
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/conformance episodes "python examples/spark/adapter.py" --episodes 500 \
	  --seed spark --no-reduction --into build/episodes-spark --report reports/episodes-spark.md || [ $$? -eq 1 ]

hunt: venv ## a blind hunt: try the defects in the folder DEFECTS, as hunt number HUNT; then the page, into reports/
	$(BIN)/python -m tests.hunts.hunting try $(DEFECTS) tests/hunts/$(HUNT).json \
	  --into build/hunt-$(HUNT) --processes $(PROCESSES) \
	  --made "$$(date -u +%F), $$(git rev-parse --short HEAD)"
	$(BIN)/python -m tests.hunts.hunting page reports/hunts.md

variants: venv ## every legal variant in 20,000 scenarios, into reports/
	$(CONFORMANCE) variants $(call kept,variants) --corpus tests/corpus/legal_variants \
	  $(call renewed,legal-variants)

exercise: venv ## in which settings the references put each property to the test, into reports/
	$(CONFORMANCE) check --scenarios 3000 $(call kept,exercise) --implementation reference \
	  --implementation reference-in-memory --implementation reference-recover-first --exercise reports/exercise.md

trials: venv ## campaigns whose processes are killed at random, and hostile programs and files, into reports/
	$(BIN)/python -m tests.campaigns.kills reports/kills.md
	$(BIN)/python -m tests.strangers reports/strangers.md

corpus: venv ## minimal scenario, first hit and broken properties of every known bug, into tests/corpus
	$(CONFORMANCE) bugs --processes $(PROCESSES) --corpus tests/corpus
	$(BIN)/python -m tests.engines.noticing tests/corpus/noticed.toml --processes $(PROCESSES)

explore: venv ## the scopes that are explored completely, into reports/exploration; two hours and up to 9 GB
	@mkdir -p reports/exploration
	$(CONFORMANCE) explore --component subpartition --json reports/exploration/subpartition.json
	$(foreach recovery,recover-first in-memory,$(CONFORMANCE) explore --component gate --scope recovery=$(recovery) \
	  --scope recovered=2 --scope interleaving=whole --max-states 2000000 \
	  --json reports/exploration/gate-$(recovery).json && ) true
	$(CONFORMANCE) explore --component gate --scope recovery=pushed --scope recovered=2 --scope interleaving=whole \
	  --scope barriers=0 --json reports/exploration/gate-pushed.json
	$(CONFORMANCE) explore --component gate --scope 'gates=[["remote"]]' --scope elements=1 --json reports/exploration/gate-fine.json
	$(CONFORMANCE) explore --component barrier-handler --scope barriers=2 --scope announcements=1 --scope markers=1 \
	  --scope ends=1 --scope time=1 --json reports/exploration/barrier-handler.json
	$(CONFORMANCE) explore --component barrier-handler --scope alternating=false --scope barriers=4 --scope markers=2 \
	  --scope ends=1 --scope time=1 --json reports/exploration/barrier-handler-aligned.json
	$(CONFORMANCE) explore --component subtask-checkpoint --json reports/exploration/subtask-checkpoint.json
	$(CONFORMANCE) explore --component consumer-loop --scope alike=channel --scope markers=0 --scope time=0 \
	  --json reports/exploration/consumer-loop.json
	$(CONFORMANCE) explore --component writer --scope subtasks=2 --scope checkpoints=4 --scope strikes=1 --scope futures=0 \
	  --scope aborts=0 --scope closes=0 --scope at_once=execute --scope alike=subtask --depth 8 \
	  --json reports/exploration/writer-bounded.json || [ $$? -eq 3 ]
	$(CONFORMANCE) explore --component drainer --recognition hash --scope interleaving=whole \
	  --json reports/exploration/drainer-whole.json
	$(CONFORMANCE) explore --component drainer --recognition hash --scope checkpoints=1 \
	  --json reports/exploration/drainer-one-checkpoint.json
	$(CONFORMANCE) explore --component drainer --recognition hash --max-states 80000 \
	  --json reports/exploration/drainer-bounded.json || [ $$? -eq 3 ]
	$(call explore-coordinator,aborts,most_turns=1 kinds=2 aborts=1)
	$(call explore-coordinator,failure,most_turns=1 kinds=2 aborts=0 failures=1)
	$(call explore-coordinator,two-checkpoints,$(PROMPT) concurrent=2 checkpoints=2 events=2 reports=2 aborts=1 failures=1)
	$(call explore-coordinator,two-subtasks,$(PROMPT) parallelism=2 alike=subtask aborts=0 failures=1)
	$(call explore-coordinator,bounded,$(PROMPT) parallelism=2 alike=subtask concurrent=2 checkpoints=2 kinds=2 events=2 \
	  reports=2 aborts=1 failures=1,--depth 8) || [ $$? -eq 3 ]

PROMPT = at_once=turn,reply most_turns=0
# A name, the scope (what it leaves out is one checkpoint, and one message each way), and more options.
define explore-coordinator
	$(CONFORMANCE) explore --component coordinator --max-states 20000000 $(3) $(addprefix --scope ,$(2)) \
	  --json reports/exploration/coordinator-$(1).json
endef

nightly: test ## the test command, the slow tests, and the reports on the suite itself and on Spark; hours
	$(PYTEST) -m slow
	rm -rf build/kill-matrix build/reach build/outside build/suite-mutants build/variants
	$(MAKE) kill-matrix likely-causes reach outside suite-mutants hypothesis jobs variants explore trials coverage episodes-spark

clean: ## remove what make built, except the virtual environment
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find conformance strategies reference_impl tests -name __pycache__ -prune -exec rm -rf {} +
