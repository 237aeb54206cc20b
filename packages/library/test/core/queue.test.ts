import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pageTicketsMax, recordTicketsMin, type Ticket } from "../../src/core/lock/record.ts";
import type { Json } from "../../src/core/scalars.ts";
import { grantOf, start, ticketOf, World } from "./world.ts";

/** Most tickets of one page. */
const size = pageTicketsMax;
/** Most tickets of the record: it has just taken a page in. */
const recordMax = recordTicketsMin - 1 + size;

/**
 * A lock held by A with the tickets `from`, `from` + 1, … of presence B waiting, stored in pages.
 */
function crowded(from: number, count: number, firstPage: number): World {
  const tickets = Array.from({ length: count }, (_, index) =>
    ticketOf(`b${from + index}`, from + index, { giveUpAt: null }),
  );
  const pages = Map.groupBy(tickets, pageOf);
  const world = new World().withPresence("B");
  const further = [...pages].filter(([page]) => page >= firstPage);
  const depth = further.reduce((sum, [, each]) => sum + each.length, 0);
  const last = Math.max(firstPage, ...further.map(([page]) => page));
  world.withLock({
    counter: 9_000,
    ended: range(1, 4).map((each) => ({
      id: `b${1e4 + each}`,
      token: 8900 + each,
      how: "released" as const,
      at: start,
    })),
    grants: [grantOf("a1", { presence: "B" })],
    queue: tickets.filter(({ number }) => number < firstPage * size),
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
  expect(queue.length).toBeLessThanOrEqual(recordMax);
  const numbers = pages === undefined ? [] : range(pages.first, pages.last);
  const inPages = numbers.flatMap((page) => world.page(page)?.tickets ?? []);
  expect(inPages.length).toBe(pages?.depth ?? 0);
  expect(inPages.filter(({ mode }) => mode === "exclusive").length).toBe(pages?.exclusive ?? 0);
  expect(world.keys("queue")).toHaveLength(new Set(inPages.map(pageOf)).size);
  for (const ticket of queue)
    expect(pages === undefined || pageOf(ticket) < pages.first).toBe(true);
  if (pages !== undefined) expect(queue.length).toBeGreaterThanOrEqual(recordTicketsMin);
  return [...queue, ...inPages];
}

function pageOf(ticket: Ticket): number {
  return Math.floor(ticket.number / size);
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
    const sample = fc.tuple(
      fc.integer({ min: 0, max: 220 }),
      fc.array(operation, { maxLength: 60 }),
    );
    fc.assert(
      fc.property(sample, ([crowd, operations]) => {
        const world = crowded(1, crowd, 1);
        const line = Array.from({ length: crowd }, (_, index) => `b${index + 1}`);
        for (const { kind, at } of operations) operate(world, line, { kind, at });
        expect(storedQueue(world).map(({ id }) => id)).toEqual(line);
      }),
      { numRuns: 200 },
    );
  });

  test("a position is exact inside the record and an upper bound beyond [L126] [L28]", () => {
    const world = crowded(1, 300, 1);
    const inRecord = world.lock().queue.at(-1)?.number ?? 0;
    const beyond = inRecord + 6 + size;
    for (const number of [2, 3, inRecord + 1, inRecord + 2]) {
      world.giveUp("B", `b${number}`, number);
    }
    expect(world.look("B", [`b${inRecord}`, inRecord]).denial?.position).toBe(inRecord - 3);
    // Four tickets before it have gone, two of them from a page that is not read.
    const told = world.giveUp("B", `b${beyond}`, beyond);
    expect(told).toMatchObject({ denial: { position: beyond - 1 - 2 } });
    expect(world.giveUp("B", "b300", 300)).toMatchObject({ denial: { position: 294 } });
  });

  test("a record left with too few tickets takes one whole page in [L126]", () => {
    const world = crowded(size - recordTicketsMin, 300, 1);
    expect(world.lock().queue).toHaveLength(recordTicketsMin);
    handOver(world, 1);
    expect(world.lock().queue).toHaveLength(recordMax);
    expect(world.lock().pages).toMatchObject({ first: 2, depth: 300 - 1 - recordMax });
    expect(world.page(1)).toBeUndefined();
  });

  test("tickets go into the record until a page begins behind enough of them [L126]", () => {
    const few = recordTicketsMin - 1;
    const world = crowded(size - few, few, 9);
    for (let number = size; number < 2 * size + 1; number += 1) world.acquire("B", `b${number}`);
    expect(world.lock().queue).toHaveLength(recordMax);
    expect(world.lock().pages).toEqual({ first: 2, last: 2, depth: 1, exclusive: 1 });
  });

  test("a page emptied by departures is deleted, and the counts end [L126] [I33]", () => {
    const world = crowded(1, size + 2, 1);
    for (const number of [size, size + 2, size + 1]) world.giveUp("B", `b${number}`, number);
    expect(world.keys("queue")).toEqual([]);
    expect(world.lock().pages).toBeUndefined();
    world.acquire("B", `b${size + 3}`);
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
    // A record that is about to take in a full page: the worst alignment for 100, too.
    const first = 650 * size;
    const few = handOver(crowded(first - recordTicketsMin, 100, 650), 60);
    const many = handOver(crowded(first - recordTicketsMin, 10_000, 650), 200);
    // The counts of the pages, and the ids, have a few digits more.
    expect(Math.max(...many)).toBeLessThanOrEqual(Math.max(...few) + 8);
  });

  test("with 10 000 waiters an arrival and a departure write no more than with 1000 [L126]", () => {
    const bytes = (count: number): readonly number[] => {
      const world = crowded(650 * size, count, 651);
      world.settings = { queueMax: 20_000 };
      world.acquire("B", "newcomer");
      const arrival = world.bytesWritten;
      const inPage = 653 * size + 1;
      world.giveUp("B", `b${inPage}`, inPage);
      return [arrival, world.bytesWritten];
    };
    // The last pages of both are equally full.
    const [few, many] = [bytes(50 * size + 3), bytes(500 * size + 3)];
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
    // On a free lock no ticket is made, so its number would come again.
    const isFree = world.lock().grants.length === 0;
    const newcomer = isFree ? `x${world.lock().counter}` : `b${nextTicket}`;
    const result = world.acquire("B", newcomer, { waitMs: null });
    if (isFree) return;
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
