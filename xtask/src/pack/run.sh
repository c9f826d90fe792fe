#!/bin/sh
# Runs girih's device suite, its vectors, its benchmarks and its peers on this machine's NVIDIA GPU.
set -u

usage() {
    cat <<'TEXT'
Usage: run.sh [--out DIR] [--no-tests] [--no-bench] [--no-peers] [--runs N] [--bench FILTER]... [--peer SECTION]...
              [--sanitize] [--litmus N] [--stress SECONDS] [FILTER...]

  --out DIR    where logs and summary.txt go (default: results, in the current folder)
  --no-tests   leave the tests and the vectors out
  --no-bench   leave girih's benchmarks out
  --no-peers   leave the peers (torch, Triton, cuTile, CUB) out
  --runs N     measure girih and its peers N times in turn, each time into a folder run-1, run-2, ... of DIR, and compare
               the medians over all of them
  --bench FILTER
               measure only the workloads whose name holds this, or another FILTER given so
  --peer SECTION
               measure only this section of the peers (a SECTION of `python3 peers --help`, cub or cub_device), or another
               given so
  --sanitize   also run tests under compute-sanitizer: memcheck and initcheck over views, memcheck over layouts and
               memory, racecheck over what uses shared memory
  --litmus N   also play each litmus test of memory orders N times at the scope of the device, N / 10 at the others
  --stress SECONDS
               also load each building block for that long, and its mutant, without orders, for a tenth of it
  FILTER       run only the tests whose name holds one of these

The exit status is 0 where everything that ran succeeded and, without --no-tests, at least one test ran.
TEXT
}

here=$(cd "$(dirname "$0")" && pwd)
out=results tests=yes bench=yes peers=yes runs=1 sanitize=no litmus= stress=
# Filters of benchmarks may hold spaces: one a line.
filters=
# Sections of the peers: those in Python (none: all of them), and CUB's programs, all of both unless some are named.
sections= cub= named=no
while [ $# -gt 0 ]; do
    case $1 in
        --out)
            [ $# -gt 1 ] || { usage >&2; exit 2; }
            out=$2
            shift
            ;;
        --no-tests) tests=no ;;
        --no-bench) bench=no ;;
        --no-peers) peers=no ;;
        --runs)
            [ $# -gt 1 ] && [ "$2" -ge 1 ] 2>/dev/null || { usage >&2; exit 2; }
            runs=$2
            shift
            ;;
        --bench)
            [ $# -gt 1 ] || { usage >&2; exit 2; }
            filters="$filters$2
"
            shift
            ;;
        --peer)
            [ $# -gt 1 ] || { usage >&2; exit 2; }
            case $2 in
                cub | cub_device) cub="$cub $2" ;;
                *) sections="$sections $2" ;;
            esac
            named=yes
            shift
            ;;
        --sanitize) sanitize=yes ;;
        --litmus)
            [ $# -gt 1 ] || { usage >&2; exit 2; }
            litmus=$2
            shift
            ;;
        --stress)
            [ $# -gt 1 ] || { usage >&2; exit 2; }
            stress=$2
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        -*) usage >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
[ "$named" = yes ] || cub='cub cub_device'
mkdir -p "$out" || exit 2
summary=$out/summary.txt
: >"$summary"
failures=0 passed=0 failed=0 skipped=0

# NVRTC: the machine's toolkit, else the one that came with a Python package.
if [ -z "${CUDA_PATH:-}" ]; then
    CUDA_PATH=/usr/local/cuda
    if [ ! -d "$CUDA_PATH" ]; then
        CUDA_PATH=$(python3 -c 'import nvidia.cu13 as toolkit; print(list(toolkit.__path__)[0])' 2>/dev/null)
    fi
fi
export CUDA_PATH
export LD_LIBRARY_PATH="$CUDA_PATH/lib64:$CUDA_PATH/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

say() {
    echo "$*" | tee -a "$summary"
}

# step NAME COMMAND...: runs it with its output in NAME.log, and says how it ended.
step() {
    name=$1
    shift
    start=$(date +%s)
    "$@" >"$out/$name.log" 2>&1
    ended "$name" $? "$start"
}

# ended NAME STATUS START: says how the step ended that began at START.
ended() {
    seconds=$(($(date +%s) - $3))
    if [ "$2" -eq 0 ]; then
        say "$1: ok ($seconds s)"
    else
        say "$1: FAILED (exit status $2, $seconds s), see $1.log"
        failures=$((failures + 1))
    fi
}

# count NAME: adds up the last closing line of NAME.log, libtest's or the plain one.
count() {
    line=$(grep -E '^(test result: |[0-9]+ passed, )' "$out/$1.log" | tail -n 1)
    passed=$((passed + $(number 'passed')))
    failed=$((failed + $(number 'failed')))
    skipped=$((skipped + $(number '(ignored|skipped)')))
}

# number WORD: the count before WORD in $line, 0 where there is none.
number() {
    found=$(printf '%s\n' "$line" | grep -oE "[0-9]+ $1" | grep -oE '^[0-9]+')
    echo "${found:-0}"
}

nvidia-smi -L 2>/dev/null | tee -a "$summary"
suite=$here/girih-suite
step devices "$suite" devices
if [ "$tests" = yes ]; then
    # A process compiles one kernel at a time, so several share the tests.
    jobs=$(nproc 2>/dev/null || echo 1)
    [ "$jobs" -le 8 ] || jobs=8
    start=$(date +%s)
    for job in $(seq "$jobs"); do
        "$suite" test "$@" --device cuda --shard "$job/$jobs" >"$out/tests-$job.log" 2>&1 &
        eval "job_$job=$!"
    done
    for job in $(seq "$jobs"); do
        eval "process=\$job_$job"
        wait "$process"
        ended "tests-$job" $? "$start"
        count "tests-$job"
    done
    for file in "$here"/vectors/*.jsonl; do
        name=vectors-$(basename "$file" .jsonl)
        step "$name" "$suite" oracle "$file" --device cuda
        count "$name"
    done
fi
if [ "$sanitize" = yes ]; then
    PATH=$PATH:$CUDA_PATH/bin
    for tool in memcheck initcheck; do
        step "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$suite" test view properties --device cuda
    done
    step memcheck-memory compute-sanitizer --error-exitcode 9 "$suite" test memory:: layouts tiles:: --device cuda
    step racecheck compute-sanitizer --tool racecheck --error-exitcode 9 "$suite" test memory:: groups:: tiles:: --device cuda
fi
if [ -n "$litmus" ]; then
    step litmus-device "$suite" litmus .device. --device cuda --trials "$litmus" --out "$out/litmus-device.json"
    step litmus-others "$suite" litmus .cube. .system. --device cuda --trials "$((litmus / 10))" --out "$out/litmus-others.json"
fi
if [ -n "$stress" ]; then
    step stress "$suite" stress --device cuda --seconds "$stress" --out "$out/stress.json"
    # A mutant that nothing catches is a finding, and no failure of what was tested.
    "$suite" stress --mutant --device cuda --seconds "$((stress / 10))" --out "$out/mutants.json" >"$out/mutants.log" 2>&1
    say "mutants: see mutants.log"
fi
# measure FOLDER LABEL: girih's benchmarks and its peers' once, into a folder of the results; the names of the steps begin
# with the label.
measure() {
    if [ "$bench" = yes ]; then
        start=$(date +%s)
        (
            # Filters are no names of files.
            set -f
            IFS='
'
            # shellcheck disable=SC2086
            exec "$suite" bench --device cuda --json "$1/bench.jsonl" -- $filters
        ) >"$out/$2bench.log" 2>&1
        ended "$2bench" $? "$start"
    fi
    if [ "$peers" = yes ]; then
        if [ "$torch" = yes ] && { [ "$named" = no ] || [ -n "$sections" ]; }; then
            # shellcheck disable=SC2086
            step "$2peers" python3 "$here/peers" $sections
        fi
        for program in $cub; do
            if [ -x "$out/$program" ]; then
                step "$2$program" "$out/$program"
            fi
        done
    fi
}

torch=no
if [ "$peers" = yes ]; then
    if python3 -c 'import torch' 2>/dev/null; then
        torch=yes
    else
        say "peers: left out, python3 has no torch"
    fi
    nvcc=$(PATH=$PATH:$CUDA_PATH/bin command -v nvcc)
    if [ -n "$nvcc" ]; then
        for program in $cub; do
            step "$program-build" "$nvcc" -O3 -std=c++17 -arch=sm_90 -o "$out/$program" "$here/peers/$program.cu"
        done
    else
        say "cub: left out, there is no nvcc"
    fi
fi
set --
for run in $(seq "$runs"); do
    folder=$out label=
    if [ "$runs" -gt 1 ]; then
        folder=$out/run-$run label=run-$run/
        mkdir -p "$folder"
    fi
    measure "$folder" "$label"
    for file in "$folder/bench.jsonl" "$folder/peers.log" "$folder/cub.log" "$folder/cub_device.log"; do
        if [ -s "$file" ]; then
            set -- "$@" "$file"
        fi
    done
done
if [ $# -gt 1 ]; then
    step compare python3 "$here/peers/compare.py" "$@"
    cat "$out/compare.log"
fi

if [ "$tests" = yes ] && [ $((passed + failed)) -eq 0 ]; then
    say "no test ran"
    failures=$((failures + 1))
fi
say "$passed passed, $failed failed, $skipped skipped"
[ "$failures" -eq 0 ] && [ "$failed" -eq 0 ]
