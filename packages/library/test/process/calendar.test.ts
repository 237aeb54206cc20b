import { expect, test } from "vitest";

import { open } from "../../src/index.ts";
import { Puppet, nowMs } from "./puppet.ts";
import { ScratchStore, until } from "./scratch-store.ts";

const faketime = (shift: string): readonly string[] => [
  "/usr/bin/faketime",
  "--exclude-monotonic",
  "-f",
  shift,
];
const lease = { lease: "2s" } as const;

test.concurrent.for([
  ["one hour back", "-1h", {}],
  ["one hour ahead", "+1h", {}],
  ["ten minutes behind", "-10m", {}],
  ["in another time zone", "+0", { TZ: "Pacific/Kiritimati" }],
] as const)(
  "LS86 LS87 a contender whose calendar is %s waits for the true end [L53]; cases 022, 024, 027",
  { timeout: 60_000 },
  async ([, shift, env]) => {
    using store = new ScratchStore();
    const holder = await Puppet.open(store.url, lease, { env: { TZ: "America/Los_Angeles" } });
    using contender = await Puppet.open(store.url, lease, { under: faketime(shift), env });
    await using observer = await open(store.url);
    await holder.acquire("n");
    expect((await contender.ask({ do: "try", name: "n", options: {} })).value).toBe(0);
    const waiting = contender.acquire("n", { wait: "20s" });
    await until(async () => (await observer.status("n")).depth === 1);
    // Longer than the lease: the holder renews, and the contender stays out.
    await new Promise((resume) => setTimeout(resume, 2_500));
    expect((await observer.status("n")).token).toBe(1);
    holder.kill();
    const killedMs = nowMs();
    const { value, atMs } = await waiting;
    expect(value).toBe(2);
    expect(atMs - killedMs).toBeLessThan(2_000 + 1_000 + 1_000);
  },
);

test(
  "LS88 a wait is measured by elapsed time, whatever the calendar says [L29]; case 028",
  { timeout: 60_000 },
  async () => {
    using store = new ScratchStore();
    await using space = await open(store.url);
    const held = await space.acquire("n");
    // The calendar of this process runs sixty times as fast.
    using fast = await Puppet.open(store.url, {}, { under: faketime("+0 x60") });
    const askedMs = nowMs();
    const { code, atMs } = await fast.acquire("n", { wait: "2s" });
    expect(code).toBe("LOCK_WAIT_TIMEOUT");
    expect(atMs - askedMs).toBeGreaterThanOrEqual(1_990);
    expect(atMs - askedMs).toBeLessThan(2_000 + 1_300 + 700);
    await held.release();
  },
);
