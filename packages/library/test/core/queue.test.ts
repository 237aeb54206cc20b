import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Ticket } from "../../src/core/lock/record.ts";
import type { Json } from "../../src/core/scalars.ts";
import { grantOf, start, ticketOf, World } from "./world.ts";

/** A lock held by A with the tickets `from`, `from` + 1, … of presence B waiting, stored in pages. */
function crowded(from: number, count: number, firstPage: number): World {
  const tickets = Array.from({ length: count }, (_, index) =>
    ticketOf(`b${from + index}`, from + index, { giveUpAt: null }),
  );
  const pages = Map.groupBy(tickets, ({ number }) => Math.floor(number / 64));
  const world = new World().withPresence("B");
  const further = [...pages].filter(([page]) => page >= firstPage);
  const depth = further.reduce((sum, [, each]) => sum + each.length, 0);
  const last = Math.max(firstPage, ...further.map(([page]) => page));
  world.withLock({
    counter: 9_000,
    ended: range(1, 4).map((each) => ({
      ...{ id: `b${10_000 + each}`, token: 8_900 + each, how: "released" as const, at: start },
    })),
    grants: [grantOf("a1", { presence: "B" })],
    queue: tickets.filter(({ number }) => number < firstPage * 64),
    nextTicket: from + count,
    ...(depth === 0 ? {} : { pages: { first: firstPage, last, depth, exclusive: depth } }),
  });
  for (const [page, each] of further) {
    const key = ["queue", "ns", "a", String(page).padStart(16, "0")];
    world.put(key, { v: 1, tickets: each } as unknown as Json);
  }
  return world;
}

/** Hands the lock over `count` times; gives the bytes that each commit wrote. */
function handOver(world: World, count: number): readonly number[] {
  return Array.from({ length: count }, () => {
    const [holder] = world.lock().grants;
    expect(world.release("B", holder?.id ?? "none")).toBe(true);
    return world.bytesWritten;
  });
}

/** All tickets of the stored queue, in order, and what its records must satisfy. */
function storedQueue(world: World): readonly Ticket[] {
  const { queue, pages } = world.lock();
  expect(queue.length).toBeLessThanOrEqual(95);
  const numbers = pages === undefined ? [] : range(pages.first, pages.last);
  const inPages = numbers.flatMap((page) => world.page(page)?.tickets ?? []);
  expect(inPages.length).toBe(pages?.depth ?? 0);
  expect(inPages.filter(({ mode }) => mode === "exclusive").length).toBe(pages?.exclusive ?? 0);
  expect(world.keys("queue")).toHaveLength(new Set(inPages.map(pageOf)).size);
  for (const ticket of queue) expect(pages === undefined || pageOf(ticket) < pages.first).toBe(true);
  if (pages !== undefined) expect(queue.length).toBeGreaterThanOrEqual(32);
  return [...queue, ...inPages];
}

function pageOf(ticket: Ticket): number {
  return Math.floor(ticket.number / 64);
}

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

describe("a paged queue", () => {
  test("equals an unpaged one under random arrivals and departures [L17] [L27] [L126]", () => {
    const operation = fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constant("join" as const), at: fc.nat() }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("leave" as const), at: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), at: fc.nat() }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("hand" as const), at: fc.nat() }) },
    );
    const sample = fc.tuple(fc.integer({ min: 0, max: 220 }), fc.array(operation, { maxLength: 60 }));
    fc.assert(
      fc.property(sample, ([crowd, operations]) => {
        const world = crowded(1, crowd, crowd < 64 ? 2 : 1);
        const line = Array.from({ length: crowd }, (_, index) => `b${index + 1}`);
        for (const { kind, at } of operations) operate(world, line, { kind, at });
        expect(storedQueue(world).map(({ id }) => id)).toEqual(line);
      }),
      { numRuns: 60 },
    );
  });

  test("a position is exact inside the record and an upper bound beyond [L126] [L28]", () => {
    const world = crowded(1, 300, 1);
    for (const id of [70, 71, 100, 200]) world.giveUp("B", `b${id}`, id);
    expect(world.look("B", ["b40", 40]).denial?.position).toBe(39);
    const beyond = world.giveUp("B", "b250", 250);
    expect(beyond).toMatchObject({ denial: { position: 248 } });
    expect(world.giveUp("B", "b300", 300)).toMatchObject({ denial: { position: 294 } });
  });

  test("a record left with fewer than 32 tickets takes one whole page in [L126]", () => {
    const world = crowded(1, 300, 1);
    handOver(world, 31);
    expect(world.lock().queue).toHaveLength(32);
    expect(world.lock().pages).toMatchObject({ first: 1, last: 4, depth: 237 });
    handOver(world, 1);
    expect(world.lock().queue).toHaveLength(95);
    expect(world.lock().pages).toMatchObject({ first: 2, last: 4, depth: 173 });
    expect(world.page(1)).toBeUndefined();
  });

  test("tickets go into the record until a page begins behind 32 of them [L126]", () => {
    const world = crowded(40, 24, 9);
    for (let number = 64; number < 129; number += 1) world.acquire("B", `b${number}`);
    expect(world.lock().queue).toHaveLength(88);
    expect(world.lock().pages).toEqual({ first: 2, last: 2, depth: 1, exclusive: 1 });
  });

  test("a page emptied by departures is deleted, and the counts end [L126] [I33]", () => {
    const world = crowded(1, 66, 1);
    for (const number of [64, 66, 65]) world.giveUp("B", `b${number}`, number);
    expect(world.keys("queue")).toEqual([]);
    expect(world.lock().pages).toBeUndefined();
    world.acquire("B", "b67");
    expect(world.lock().pages).toMatchObject({ first: 1, last: 1, depth: 1 });
  });

  test("a request reads no page while the record tells enough [L126] [L132]", () => {
    const world = crowded(1, 300, 1);
    world.try("C", "c1");
    expect(world.reads).toEqual(["lock/ns/a"]);
    world.acquire("C", "c1");
    expect(world.reads.filter((key) => key.startsWith("queue/"))).toHaveLength(1);
  });

  test("with 10 000 waiters a hand-over writes no more bytes than with 100 [L126] [LS159]", () => {
    // 32 tickets in the record and a full page behind them: the worst alignment for 100, too.
    const few = handOver(crowded(10_016, 100, 157), 60);
    const many = handOver(crowded(10_016, 10_000, 157), 200);
    // The counts of the pages, and the ids, have a few digits more.
    expect(Math.max(...many)).toBeLessThanOrEqual(Math.max(...few) + 8);
  });

  test("with 10 000 waiters an arrival and a departure write no more than with 1000 [L126]", () => {
    const bytes = (count: number): readonly number[] => {
      const world = crowded(10_016, count, 157);
      world.settings = { queueMax: 20_000 };
      world.acquire("B", "newcomer");
      const arrival = world.bytesWritten;
      world.giveUp("B", "b10130", 10_130);
      return [arrival, world.bytesWritten];
    };
    // The last pages of both are equally full.
    const [few, many] = [bytes(1_000), bytes(10_024)];
    expect(Math.abs((many[0] as number) - (few[0] as number))).toBeLessThan(20);
    expect(Math.abs((many[1] as number) - (few[1] as number))).toBeLessThan(20);
  });

  test("hands over in ticket order without exception to the last [L18] [LS159] [I11]", () => {
    const world = crowded(1, 400, 1);
    const order = Array.from({ length: 401 }, () => {
      const id = world.lock().grants[0]?.id ?? "none";
      world.release("B", id);
      return id;
    });
    expect(order).toEqual(["a1", ...Array.from({ length: 400 }, (_, index) => `b${index + 1}`)]);
    expect(world.lock()).toMatchObject({ queue: [], grants: [], counter: 9_400 });
    expect(world.now).toBe(start);
  });
});

type Operation = { readonly kind: "join" | "leave" | "cancel" | "hand"; readonly at: number };

/** One step on the stored queue and on the plain list that it must equal. */
function operate(world: World, line: string[], { kind, at }: Operation): void {
  const { nextTicket } = world.lock();
  const place = line.length === 0 ? -1 : at % line.length;
  const id = line[place];
  if (kind === "join") {
    const result = world.acquire("B", `b${nextTicket}`, { waitMs: null });
    if (world.lock().grants.some((grant) => grant.id === `b${nextTicket}`)) return;
    expect(result).toMatchObject({ denial: { position: line.length } });
    line.push(`b${nextTicket}`);
  } else if (kind === "hand") {
    world.release("B", world.lock().grants[0]?.id ?? "none");
    expect(world.lock().grants[0]?.id).toBe(line.shift());
  } else if (id !== undefined) {
    const isInRecord = world.lock().queue.some((ticket) => ticket.id === id);
    if (kind === "cancel") {
      expect(world.cancel("B", id, at % 2 === 0 ? null : Number(id.slice(1)))).toBe("ticket");
    } else {
      const result = world.giveUp("B", id, Number(id.slice(1)));
      const position = result.kind === "removed" ? (result.denial.position ?? -1) : -1;
      expect(isInRecord ? position === place : position >= place).toBe(true);
    }
    line.splice(place, 1);
  }
  storedQueue(world);
}
