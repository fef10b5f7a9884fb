# The bench goes on after a line that fails, lists it at the end and exits with 1: bench/run.py with peers and a worker
# that are none.
set -eu
command -v python3 >/dev/null || {
    echo "skipped: there is no python3"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$SOURCE/bench/run.py" "$SOURCE/bench/attempts.py" "$SOURCE/bench/peers.py" "$scratch"
cd "$scratch"
export PYTHONDONTWRITEBYTECODE=1

mkdir -p torch/nn
cat >torch/__init__.py <<'P'
from types import SimpleNamespace
__version__ = "0"
backends = SimpleNamespace(cpu=SimpleNamespace(get_cpu_capability=lambda: "none"))
set_num_threads = manual_seed = lambda n: None
P
: >torch/nn/__init__.py
: >torch/nn/functional.py
for name in assignment attention decoders detectors encoders fourier graphs language recurrent tokens training translate vision; do
    printf 'lines = lambda: []\nshare = extras = lambda *a: None\n' >$name.py
done
cat >>attention.py <<'P'
def good(*sizes): return [("peer", lambda: None)]
def bad(*sizes): raise ValueError("no peer")
def dead(*sizes): return [("peer", lambda: None)]
def lines():
    yield "first", good, (1, 1, 1), (0, 0)
    yield "broken", bad, (1, 1, 1), (0, 0)
    yield "killed", dead, (1, 1, 1), (0, 0)
    yield "second", good, (1, 1, 1), (0, 0)
    raise ImportError("torchvision::nms does not exist")
P
echo 'lines = lambda: [("third", __import__("attention").good, (1, 1, 1), (0, 1e9))]' >>tokens.py
printf 'def extras(*a):\n    import sys\n    sys.exit("a process of its own")\n' >>encoders.py
# heed's side answers with milliseconds and bytes, and stops at one of the workloads
cat >worker <<'W'
#!/bin/sh
while read -r workload rest; do
    [ "$workload" != dead ] || exit 1
    echo "1.0 100"
done
W
chmod +x worker
sed -i 's/^def lines():$/def lines():\n    return iter(())\n\n\ndef real_lines():/; s/^def starts():$/def starts():\n    return iter(())\n\n\ndef real_starts():/' run.py

status=0
python3 run.py ./worker --out out.json --turns 1 --seconds 0 >out 2>err || status=$?
demand() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then return; fi
    echo "bench: $what"
    cat out err
    exit 1
}
demand "the status is $status, not 1" test "$status" = 1
for line in first second third; do demand "$line should have been measured" grep -q "^$line .*peer" out; done
sed -n '/^behind:/,$p' err >end
for line in 'behind:' '  third, 2 threads: .*' 'failed:' '  broken, 1 threads: no peer' '  killed, 2 threads: heed: dead: the worker stopped' \
    '  lines of attention: torchvision::nms does not exist' '  MiniLM-L6 fine-tuning, beside its lines: a process of its own'; do
    demand "the end should say '$line'" grep -qx "$line" end
done
demand "what was measured should be written" grep -q '"name": "second"' out.json
