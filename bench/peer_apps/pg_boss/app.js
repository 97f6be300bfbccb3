// pg-boss: `setup`, `fill N`, `drain`.
//
// It has no one-shot mode: its own workers, stopped once they were given all jobs and none is left that is not completed.
// At default settings one worker takes one job every two seconds. At best: two that take 10,000 at a time and are told to look
// again at once, without the maintenance and the schedules of a process that stays. (Fewer at a time are slower: each
// time it sorts all that wait.)

const PgBoss = require("pg-boss");

const QUEUE = "noop";
const BEST = { batchSize: 10000 };
const WORKERS = 2;
const isBest = process.env.BENCH_SETTINGS === "best";

async function drain(boss, count) {
  let taken = 0;
  if (isBest) {
    for (let number = 0; number < WORKERS; number++) {
      const worker = await boss.work(QUEUE, BEST, async (jobs) => {
        taken += jobs.length;
        boss.notifyWorker(worker);
      });
    }
  } else {
    await boss.work(QUEUE, async ([job]) => {
      taken += 1;
    });
  }
  while (taken < count || (await boss.getQueueSize(QUEUE, { before: "completed" }))) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function main(action, count) {
  const oneShot = isBest && action === "drain" ? { supervise: false, schedule: false } : {};
  const boss = new PgBoss({ connectionString: process.env.BENCH_URL, ...oneShot });
  boss.on("error", console.error);
  await boss.start();
  if (action === "setup") {
    await boss.createQueue(QUEUE);
  } else if (action === "fill") {
    await boss.insert(Array.from({ length: Number(count) }, () => ({ name: QUEUE })));
  } else {
    await drain(boss, Number(process.env.BENCH_COUNT));
  }
  await boss.stop({ graceful: false });
}

// It ends here: what is still waiting is a worker that was told to stop, and looks for that only each second.
main(...process.argv.slice(2)).then(
  () => process.exit(0),
  (problem) => {
    console.error(problem);
    process.exit(1);
  },
);
