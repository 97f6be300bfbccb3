#!/bin/bash
# setup.sh: makes $NEUTRAL: the benchmark with our adapter and its registration, and an environment for each part.
#   NEUTRAL            an empty folder that user postgres may enter (not below a folder of mode 0700)
#   BENCH_REPO         the benchmark's repository (hardbyte/postgresql-job-queue-benchmarking), a checkout or a bare one
#   BENCH_JOBRUNNER_SOURCE  a checkout or a wheel of jobrunner
#   ABSURD_REPO        optional: earendil-works/absurd, for its SQL at 0.3.0
# Needs PostgreSQL 15 or later with contrib (SHIM_PG_BIN: the folder of initdb), Python 3.12 (SHIM_PYTHON); for pg-boss npm
# and SHIM_NODE >= 22.12.
set -eu
: "${NEUTRAL:?}" "${BENCH_REPO:?}" "${BENCH_JOBRUNNER_SOURCE:?}"
here=$(cd "$(dirname "$0")" && pwd)
python=${SHIM_PYTHON:-python3.12}
commit=93677ca
mkdir -p "$NEUTRAL/bench"
# results/ is large and not needed.
git -C "$BENCH_REPO" archive $commit -- $(git -C "$BENCH_REPO" ls-tree --name-only $commit | grep -v -x -e results -e .gitmodules) |
    tar x -C "$NEUTRAL/bench"
(cd "$NEUTRAL/bench" && patch -sp1 < "$here/register-jobrunner.patch")
cp -r "$here/adapter" "$NEUTRAL/bench/jobrunner-bench"
"$python" -m venv "$NEUTRAL/venv-harness"
"$NEUTRAL/venv-harness/bin/pip" install -q 'psycopg[binary]>=3.2' matplotlib pandas numpy 'pydantic>=2'
"$python" -m venv "$NEUTRAL/bench/jobrunner-bench/.venv"
"$NEUTRAL/bench/jobrunner-bench/.venv/bin/pip" install -q "$BENCH_JOBRUNNER_SOURCE" 'psycopg[binary]'
export SHIM_BENCH=$NEUTRAL/bench SHIM_STATE=$NEUTRAL/shim SHIM_PYTHON=$python
# The benchmark names it in its registry, and has no folder for it.
cp -r "$here/awa" "$NEUTRAL/bench/awa-python-bench"
for part in counts producer replica samples settings work; do cp "$here/adapter/$part.py" "$NEUTRAL/bench/awa-python-bench"; done
for image in awa-python-bench procrastinate-bench pgboss-bench absurd-bench; do "$here/shim/docker" build -t $image . || echo "$image: left out"; done
if [ -n "${ABSURD_REPO:-}" ]; then git -C "$ABSURD_REPO" show 0.3.0:sql/absurd.sql > "$NEUTRAL/absurd.sql"; fi
echo "now: NEUTRAL=$NEUTRAL ABSURD_SQL_PATH=$NEUTRAL/absurd.sql $here/run_all.sh && $here/table.py $NEUTRAL/cells"
