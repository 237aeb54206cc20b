import { expect } from "vitest";

import type { Fenced } from "../../src/core/fence/entry.ts";
import { MemoryFence } from "../../src/fence/index.ts";
import type { Guard } from "../../src/fence/guard.ts";
import { scenario, within } from "./world.ts";

/** A resource that cannot be reached. */
const broken: Guard = { install: () => Promise.reject(new Error("no route")) };

const own = (token: number): Fenced => ({
  namespace: "default",
  fences: [{ name: "n", mode: "exclusive", token }],
});

scenario("LS101 a lease whose marks cannot be raised is given back [L71]", async (world) => {
  const { space } = await world.client();
  const failed = { code: "FENCE_INSTALL_FAILED", lock: "n", cause: { message: "no route" } };
  await expect(space.acquire("n", { fenceOn: broken })).rejects.toMatchObject(failed); // L71
  await expect(space.tryAcquire("n", { fenceOn: broken })).rejects.toMatchObject(failed);
  expect((await world.status("n")).state).toBe("free");
  await space.claim("c", "o");
  await expect(space.resume("c", "o", { fenceOn: broken })).rejects.toMatchObject({
    code: "FENCE_INSTALL_FAILED",
  });
  const given = await (await space.acquire("t")).transfer();
  await expect(space.attach(given, { fenceOn: broken })).rejects.toMatchObject({
    code: "FENCE_INSTALL_FAILED",
  });
  expect((await world.status("t")).state).toBe("free");
  await expect(space.acquire("n", { fenceOn: {} as never })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    parameter: "fenceOn",
  });
});

scenario(
  "LS96 once acquired with its marks, nothing older is accepted [L71] [I27]",
  async (world) => {
    const [a, b] = [await world.client(), await world.client()];
    const fence = new MemoryFence();
    const late = await a.space.acquire("n", { lease: "1s", renew: "manual" });
    const stale = { namespace: late.namespace, fences: late.fences };
    await world.clock.advance(1_000);
    const held = await b.space.acquire("n", { fenceOn: fence });
    expect(() => fence.guarded(stale, {}, () => 1)).toThrow(
      expect.objectContaining({ code: "STALE_FENCE", token: 1, markX: held.token }),
    ); // I27
    expect(fence.guarded(held, {}, () => "written")).toBe("written");
  },
);

scenario(
  "LS101 a resource that knows of higher tokens lifts the counter, once [L72]",
  async (world) => {
    const { space, told } = await world.client();
    const fence = new MemoryFence();
    for (let i = 0; i < 2; i += 1) await (await space.acquire("n")).release();
    await fence.install(own(900));
    const lease = await space.acquire("n", { fenceOn: fence });
    expect(lease.token).toBe(901); // L72
    expect((await world.record("n"))?.counter).toBe(901);
    expect(lease.fences).toEqual([{ name: "n", mode: "exclusive", token: 901 }]);
    expect(fence.guarded(lease, {}, () => 1)).toBe(1);
    await world.clock.advance(40_000);
    expect(lease.state).toBe("held");
    expect(told("lost")).toEqual([]);
    expect(await lease.release()).toBe(true);
  },
);

scenario("LS101 a lease that was overtaken at the resource is lost [L72]", async (world) => {
  const [a, b] = [await world.client(), await world.client()];
  const fence = new MemoryFence();
  // The installing of A's marks takes longer than A's lease; B comes and writes meanwhile.
  const slow: Guard = {
    install: async (fenced) => {
      await world.clock.advance(1_000);
      const next = await b.space.acquire("n", { fenceOn: fence });
      expect(next.token).toBe(2);
      return fence.install(fenced);
    },
  };
  const asked = a.space.acquire("n", { lease: "1s", renew: "manual", fenceOn: slow });
  await expect(asked).rejects.toMatchObject({ code: "LEASE_LOST", token: 1 }); // L72
  expect((await world.record("n"))?.counter).toBe(2);
});

scenario(
  "LS101 an upgrade without its marks is taken back, its token stays [L71]",
  async (world) => {
    const { space } = await world.client();
    let isBroken = false;
    const fence = new MemoryFence();
    const guard: Guard = {
      install: (fenced) => (isBroken ? broken.install(fenced) : fence.install(fenced)),
    };
    const lease = await space.acquire("n", { mode: "shared", fenceOn: guard });
    isBroken = true;
    const failed = { code: "FENCE_INSTALL_FAILED" };
    await expect(within(world.clock, 1_000, lease.upgrade())).rejects.toMatchObject(failed); // L71
    expect([lease.mode, lease.token, lease.state]).toEqual(["shared", 2, "held"]);
    isBroken = false;
    await lease.upgrade();
    expect([lease.mode, lease.token]).toEqual(["exclusive", 3]);
    expect(fence.marks("default", "n")).toMatchObject({ markX: 3 });
  },
);
