#!/bin/sh
# bench.sh [PART OF A NAME]: heed and its peer side by side (bench/run.py), the peer in a virtual environment of its own, build/venv.
set -eu
cd "$(dirname "$0")/.."
if [ ! -e build/venv/complete ]; then
    echo "bench: fetching the peers into build/venv"
    mkdir -p build
    rm -rf build/venv
    python3 -m venv build/venv
    build/venv/bin/pip install --quiet torch==2.13.0 numpy safetensors transformers==5.22.2 ctranslate2==4.8.4
    touch build/venv/complete
fi
sh tools/build.sh release bench_worker
exec build/venv/bin/python bench/run.py build/release/bench_worker --out build/bench.json --only "${1:-}"
