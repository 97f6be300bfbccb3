"""The handlers of the tests of `async def`."""

HANDLERS = """
import asyncio, logging, subprocess, sys, threading

logging.basicConfig(level="INFO", format="logged %(message)s")


async def until(path):
    while not os.path.exists(path):
        await asyncio.sleep(0.01)


@job("hold", concurrency=40, timeout="5m")
async def hold(ctx: Context, path: str = "/nowhere"):
    leave_trace(ctx)
    await until(path)
    return ctx.run_id


@job("pair", concurrency=2, timeout="5m")
async def pair(ctx: Context, path: str = "/nowhere"):
    leave_trace(ctx)
    await until(path)


@job("single", concurrency=1, timeout="5m")
def single(ctx: Context, path: str):
    leave_trace(ctx)
    while not os.path.exists(path):
        time.sleep(0.01)


@job("polite", timeout="500ms", kill_after="20s", max_attempts=1)
async def polite(ctx: Context):
    leave_trace(ctx)
    try:
        await asyncio.sleep(600)
    finally:
        print("cleaned up", ctx.cancelled)


@job("finishing", timeout="500ms", kill_after="20s")
async def finishing(ctx: Context):
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        return "done, if late"


@job("speak")
async def speak(ctx: Context):
    me = f"<{ctx.run_id}>"
    print("print", me)
    await asyncio.sleep(0)
    logging.info(me)
    sys.stderr.write(f"stderr {me}\\n")
    sys.stdout.buffer.write(f"bytes {me}\\n".encode())
    await asyncio.to_thread(lambda: print("thread", me))

    async def below():
        await asyncio.sleep(0.01)
        print("below", me)

    await asyncio.gather(below(), asyncio.create_task(below()))
    ctx.log.info("bound", me=me)
    print("no newline", me, end="")


@job("flood")
async def flood(ctx: Context):
    for number in range(10_000):
        print(f"<{ctx.run_id}>", number, "x" * 100)
        if number % 100 == 0:
            await asyncio.sleep(0)
    print(f"the end of <{ctx.run_id}>")


@job("ways")
async def ways(ctx: Context, way: str):
    await asyncio.sleep(0)
    if way == "retry":
        raise Retry("later", after="1h")
    if way == "discard":
        return Discard("never")
    if way == "snooze":
        raise Snooze("1h")
    if way == "exit":
        sys.exit(3)
    if way == "cancelled":
        raise asyncio.CancelledError("its own")
    if way == "background exit":
        async def leave():
            sys.exit(4)
        await asyncio.create_task(leave())
    if way == "left behind":
        async def later():
            await asyncio.sleep(0.3)
            open(os.environ["TRACE_FILE"] + "-left", "w").close()
        globals()["kept"] = asyncio.create_task(later())
    if way == "progress":
        ctx.progress(3, 10, "three")
        await until(os.environ["TRACE_FILE"] + "-go")
    return {"way": way}
"""
