#!/bin/bash
# cell.sh NAME [arguments of `bench run`...]: one run of the harness; load, verdict and results under $NEUTRAL/cells/NAME.
# Needs $NEUTRAL (the folder that setup.sh made).
set -u
name=$1; shift
: "${NEUTRAL:?}"
here=$(cd "$(dirname "$0")" && pwd)
export SHIM_BENCH=$NEUTRAL/bench SHIM_STATE=$NEUTRAL/shim PATH="$here/shim:$PATH"
# The harness writes tokens to the stdin of each adapter. One that does not read them fills the pipe (64 KiB: 150 s at 800
# jobs/s), and the harness then waits without end when it closes that pipe. So each adapter paces itself.
export PRODUCER_PACING=adapter
export BENCH_LEDGER_DIR=$NEUTRAL/cells/$name
export SHIM_BEFORE_DOWN="$NEUTRAL/bench/jobrunner-bench/.venv/bin/python $here/judge.py"
rm -rf "$BENCH_LEDGER_DIR"; mkdir -p "$BENCH_LEDGER_DIR"
cpu() { awk '/^cpu /{print $2+$3+$4+$6+$7+$8+$9, $5, $9+$8}' /proc/stat; }
{ echo "args: $*"; date -u; echo "before: $(cat /proc/loadavg)"; } > "$BENCH_LEDGER_DIR/load"
# What others do on this machine before we begin.
read -r b1 i1 _ < <(cpu); sleep 4; read -r b2 i2 _ < <(cpu)
echo "background $(( 100*(b2-b1)/((b2-b1)+(i2-i1)+1) ))%" >> "$BENCH_LEDGER_DIR/load"
(while sleep 5; do
    read -r b1 i1 _ < <(cpu); sleep 1; read -r b2 i2 _ < <(cpu)
    echo "$(date -u +%T) load $(cut -d' ' -f1 /proc/loadavg) busy $(( 100*(b2-b1)/((b2-b1)+(i2-i1)+1) ))%"
done >> "$BENCH_LEDGER_DIR/load") &
sampler=$!
cd "$NEUTRAL/bench" && "$NEUTRAL/venv-harness/bin/python" bench.py run "$@" --skip-build > "$BENCH_LEDGER_DIR/harness.log" 2>&1
rc=$?
kill $sampler
echo "after: $(cat /proc/loadavg)" >> "$BENCH_LEDGER_DIR/load"
run_dir=$(grep -oE '/[^[:space:]]*/results/[A-Za-z0-9_]+-[0-9TZ]+-[a-f0-9]+' "$BENCH_LEDGER_DIR/harness.log" | tail -1)
[ -n "$run_dir" ] || run_dir=$(grep -oE 'run_id = .*' "$BENCH_LEDGER_DIR/harness.log" | sed "s#run_id = #$NEUTRAL/bench/results/#")
for f in summary.json raw.csv manifest.json; do [ -f "$run_dir/$f" ] && cp "$run_dir/$f" "$BENCH_LEDGER_DIR/"; done
echo "rc=$rc $run_dir" | tee -a "$BENCH_LEDGER_DIR/load"
exit $rc
