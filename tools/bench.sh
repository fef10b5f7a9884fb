#!/bin/sh
# bench.sh [PART OF A NAME]: heed and its peers side by side (bench/run.py), the peers in a virtual environment of their own, build/venv.
set -eu
cd "$(dirname "$0")/.."
peers="torch==2.13.0 numpy safetensors transformers==5.22.2 ctranslate2==4.8.4 onnx onnxruntime openvino gguf gensim kenlm timm==1.0.30 torchvision pillow scipy diffusers==0.42.1 torch_geometric==2.8.1"
compiled="llama-cpp-python==0.3.36" # from source: some 140 files of C++
if [ "$(cat build/venv/complete 2>/dev/null)" != "$peers" ]; then
    echo "bench: fetching $peers into build/venv"
    mkdir -p build
    rm -rf build/venv
    python3 -m venv build/venv
    # shellcheck disable=SC2086 # a list
    build/venv/bin/pip install --quiet $peers
    build/venv/bin/pip install --quiet "$compiled" || echo "bench: $compiled could not be built: its lines go without it"
    echo "$peers" >build/venv/complete
fi
sh tools/build.sh release bench_worker
exec build/venv/bin/python bench/run.py build/release/bench_worker --out build/bench.json --only "${1:-}"
