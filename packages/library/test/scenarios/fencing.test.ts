import { expect } from "vitest";

import type { FenceEntry } from "../../src/core/fence/entry.ts";
import { SqliteFence } from "../../src/fence/index.ts";
import { exclusive, fenced, onEachForm, permits, Scratch, shared } from "../fence/forms.ts";
import { brokenOrder } from "../fence/history.ts";
import { rejection } from "./settling.ts";
import { scenario, type World } from "./world.ts";

const refused = expect.objectContaining({ token: expect.any(Number) });

scenario("LS95 a holder that was stopped writes nothing any more [L67]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  let round = 0;
  await onEachForm(async (form) => {
    const name = `round-${(round += 1)}`;
    const stopped = await a.space.acquire(name, { renew: "manual" });
    expect(form.write(stopped)).toBe("accepted");
    await world.clock.advance(30_000);
    const next = await b.space.acquire(name, { renew: "manual" });
    expect([stopped.token, next.token]).toEqual([1, 2]);
    expect(form.write(next)).toBe("accepted");
    // A wakes up, and does not look at its lease before it writes.
    expect(form.write(stopped)).toEqual(refused);
    expect(form.write(next)).toBe("accepted");
    await next.release();
    expect(form.write(stopped)).toEqual(refused);
    form.restart();
    expect(form.write(stopped)).toEqual(refused);
    expect(form.writes()).toBe(3);
  });
});

scenario("LS96 a late write is refused once the next one's marks stand [I27]", async (world) => {
  const a = await world.client();
  const b = await world.client();
  let round = 0;
  await onEachForm(async (form) => {
    for (const isInstalled of [true, false]) {
      const name = `round-${(round += 1)}`;
      const late = await a.space.acquire(name, { renew: "manual" });
      await late.release();
      const next = await b.space.acquire(name, { renew: "manual" });
      const isPossible = isInstalled && form.install !== undefined;
      if (isPossible) expect(await form.install?.(next)).toEqual({ kind: "installed" });
      // Without marks nothing tells the resource that there is a newer holder.
      expect(form.write(late)).toEqual(isPossible ? refused : "accepted");
      expect(form.write(next)).toBe("accepted");
    }
  });
});

scenario("LS97 shared holders do not fence each other, in any order [L67]", async (world) => {
  const late = await granted(world, "n", 4, "exclusive");
  const five = await granted(world, "n", 5, "shared");
  const six = await granted(world, "n", 6, "shared");
  const seven = await granted(world, "n", 7, "exclusive");
  await onEachForm((form) => {
    const on = (namespace: string) => (fences: readonly FenceEntry[]) =>
      form.write({ namespace, fences });
    for (const [place, order] of [
      [five, six],
      [six, five],
    ].entries()) {
      const write = on(`order-${place}`);
      for (const each of [...order, ...order]) expect(write(each)).toBe("accepted");
      expect(write(late)).toEqual(refused);
      expect(write(seven)).toBe("accepted");
      for (const each of [...order, late]) expect(write(each)).toEqual(refused);
      expect(write(seven)).toBe("accepted");
    }
    for (const [place, order] of ordersOf([late, five, six, seven]).entries()) {
      const write = on(`all-${place}`);
      const history = order.map((fences) => {
        const isAccepted = write(fences) === "accepted";
        return { fenced: { namespace: "any", fences }, isAccepted };
      });
      expect(brokenOrder(history)).toBeNull();
    }
    // Nothing newer has come yet, so what is late is not too late.
    const write = on("late first");
    expect([write(late), write(five), write(late)]).toEqual(["accepted", "accepted", refused]);
  });
});

/** All orders of a list. */
function ordersOf<Value>(values: readonly Value[]): readonly (readonly Value[])[] {
  if (values.length < 2) return [values];
  return values.flatMap((value, place) =>
    ordersOf(values.toSpliced(place, 1)).map((others) => [value, ...others]),
  );
}

/** The fences of a lease with a token that was reached by going through the ones before it. */
async function granted(
  world: World,
  name: string,
  token: number,
  mode: "exclusive" | "shared",
): Promise<readonly FenceEntry[]> {
  const { space } = await world.client();
  await space.raiseFloor({ to: token - 1, reason: "to begin there" });
  const lease = await space.acquire(name, { mode });
  const { fences } = lease;
  expect(fences).toEqual([{ name, mode, token }]);
  await lease.release();
  return fences;
}

scenario("LS98 a guarded table refuses whoever shows no token [L68]", async (world) => {
  const { space } = await world.client();
  const lease = await space.acquire("n");
  const scratch = new Scratch();
  try {
    const fence = new SqliteFence(scratch.database);
    scratch.database.exec("CREATE TABLE work (token)");
    const write = (shown: unknown): void => {
      fence.guarded(shown as typeof lease, {}, (database) =>
        database.prepare("INSERT INTO work VALUES (1)").run(),
      );
    };
    const refusal = expect.objectContaining({ code: "INVALID_ARGUMENT" });
    const { namespace, name, mode } = lease;
    for (const shown of [undefined, {}, { namespace, fences: [] }, { namespace, name, mode }]) {
      expect(() => write(shown)).toThrow(refusal);
    }
    expect(() => write({ namespace, fences: [{ name, mode }] })).toThrow(refusal);
    expect(fence.marks("default", "n").markX).toBe(0);
    // The lease itself passes, and so does its JSON, which has no credential in it.
    write(lease);
    write(JSON.parse(JSON.stringify(lease)));
    expect(JSON.stringify(lease)).not.toContain(lease.leaseId);
    const rows = scratch.database.prepare("SELECT count(*) AS n FROM work").get();
    expect(rows).toMatchObject({ n: 2 });
  } finally {
    scratch.close();
  }
});

scenario("LS99 stale on one of two names raises neither [L69]", async (world) => {
  const { space } = await world.client();
  const a = await space.acquire("a");
  const b = await space.acquire("b");
  await b.release();
  const newer = await space.acquire("b");
  await onEachForm((form) => {
    expect(form.write(newer)).toBe("accepted");
    expect(form.write(fenced(...a.fences, ...b.fences))).toMatchObject({ lock: "b", markX: 2 });
    expect(form.marks("default", "a").markX).toBe(0);
    expect(form.write(fenced(...a.fences, ...newer.fences))).toBe("accepted");
    expect(form.marks("default", "a").markX).toBe(1);
  });
});

scenario("LS102 a stale holder above is fenced by work below it [L69]", async () => {
  await onEachForm((form) => {
    const above = fenced(exclusive(3, "model"));
    const below = fenced(exclusive(1, "element"), shared(4, "model"));
    expect(form.write(above)).toBe("accepted");
    expect(form.write(below)).toBe("accepted");
    // It writes the element under its lock of the model, long after that was over.
    expect(form.write(above)).toMatchObject({ lock: "model", token: 3, markS: 4 });
    // Both ways: when the model has gone to a newer holder, the work below is late.
    expect(form.write(fenced(exclusive(5, "model")))).toBe("accepted");
    expect(form.write(below)).toMatchObject({ lock: "model", mode: "shared", markX: 5 });
    expect(form.marks("default", "element").markX).toBe(1);
  });
});

scenario("LS103 slots are fenced one by one [L67]", async () => {
  await onEachForm((form) => {
    const [first, second] = [fenced(permits(1, [0])), fenced(permits(2, [1]))];
    expect(form.write(first)).toBe("accepted");
    expect(form.write(second)).toBe("accepted");
    const again = fenced(permits(3, [0]));
    expect(form.write(again)).toBe("accepted");
    expect(form.write(first)).toMatchObject({ mode: "permits", token: 1, markX: 3 });
    expect(form.write(second)).toBe("accepted");
    // Whoever holds both slots is newer in both, and bars both.
    expect(form.write(fenced(permits(4, [0, 1])))).toBe("accepted");
    expect([form.write(again), form.write(second)]).toEqual([refused, refused]);
    // One exclusive token of the name bars every slot.
    expect(form.write(fenced(exclusive(9)))).toBe("accepted");
    expect(form.write(fenced(permits(8, [2])))).toMatchObject({ token: 8, markX: 9 });
  });
});

scenario("a lease shows its names and tokens, and never its id [L66]", async (world) => {
  const { space } = await world.client({ namespace: "shop" });
  const lease = await space.acquire("n", { mode: "shared" });
  const fences = [{ name: "n", mode: "shared", token: 1 }];
  expect(lease).toMatchObject({ namespace: "shop", fences });
  expect(lease.toJSON()).toMatchObject({ namespace: "shop", fences });
  expect(JSON.stringify(lease)).not.toContain(lease.leaseId);
  await lease.release();
  expect(await rejection(lease.renew())).toMatchObject({ code: "LEASE_LOST" });
  expect(lease.fences).toEqual(fences);
});
