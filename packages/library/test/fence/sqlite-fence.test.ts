import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { SqliteFence, type SqliteDatabase } from "../../src/fence/index.ts";
import { rejection } from "../scenarios/settling.ts";
import { exclusive, fenced, permits, Scratch, shared } from "./forms.ts";

const stale = expect.objectContaining({ code: "STALE_FENCE" });
const misuse = expect.objectContaining({ code: "INVALID_ARGUMENT" });

let scratch: Scratch;

beforeEach(() => {
  scratch = new Scratch();
  scratch.database.exec("CREATE TABLE work (what)");
});
afterEach(() => scratch.close());

function works(): readonly unknown[] {
  const rows = scratch.database.prepare("SELECT what FROM work ORDER BY rowid").all();
  return rows.map(({ what }) => what);
}

function doWork(what: string, database: DatabaseSync = scratch.database): void {
  database.prepare("INSERT INTO work VALUES (?)").run(what);
}

describe("the tables of a fence", () => {
  test("are made once, with their format, and found by the next fence", () => {
    new SqliteFence(scratch.database).guarded(fenced(exclusive(7)), {}, () => doWork("a"));
    const tables = (): unknown =>
      scratch.database
        .prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'leasehold%' ORDER BY name")
        .all();
    const made = tables();
    expect(made).toMatchObject([{ name: "leasehold_fence" }, { name: "leasehold_fence_meta" }]);
    const changes = scratch.database.prepare("PRAGMA schema_version").get();
    const next = new SqliteFence(scratch.database);
    expect(tables()).toEqual(made);
    expect(scratch.database.prepare("PRAGMA schema_version").get()).toEqual(changes);
    expect(next.marks("default", "n").markX).toBe(7);
    expect(scratch.database.prepare("SELECT * FROM leasehold_fence_meta").all()).toMatchObject([
      { name: "format", value: 1 },
    ]);
  });

  test("of a newer format are left as they are", () => {
    const fence = new SqliteFence(scratch.database);
    expect(fence.marks("default", "n")).toEqual({ markX: 0, markS: 0, slots: {} });
    scratch.database.exec("UPDATE leasehold_fence_meta SET value = 2");
    const corrupt = { code: "RECORD_CORRUPT", message: expect.stringContaining("format 2") };
    expect(() => new SqliteFence(scratch.database)).toThrow(expect.objectContaining(corrupt));
    scratch.database.exec("DELETE FROM leasehold_fence_meta");
    expect(() => new SqliteFence(scratch.database)).toThrow(
      expect.objectContaining({ code: "RECORD_CORRUPT" }),
    );
  });

  test("are not made inside a transaction that could take them back", () => {
    scratch.database.exec("BEGIN");
    expect(() => new SqliteFence(scratch.database)).toThrow(misuse);
    scratch.database.exec("ROLLBACK");
    const first = new SqliteFence(scratch.database);
    scratch.database.exec("BEGIN");
    const second = new SqliteFence(scratch.database);
    second.guard(fenced(exclusive(1)));
    scratch.database.exec("COMMIT");
    expect(first.marks("default", "n").markX).toBe(1);
  });

  test("a table of the same name in temp does not stand in for them", () => {
    const fence = new SqliteFence(scratch.database);
    scratch.database.exec(
      "CREATE TEMP TABLE leasehold_fence AS SELECT * FROM main.leasehold_fence",
    );
    new SqliteFence(scratch.database).guarded(fenced(exclusive(3)), {}, () => doWork("a"));
    expect(fence.marks("default", "n").markX).toBe(3);
  });
});

describe("guard", () => {
  test("stands and falls with the transaction that it is called in [L67]", () => {
    const fence = new SqliteFence(scratch.database);
    for (const end of ["ROLLBACK", "COMMIT"]) {
      scratch.database.exec("BEGIN IMMEDIATE");
      fence.guard(fenced(exclusive(5), permits(6, [1, 3], "pool")));
      doWork(end);
      scratch.database.exec(end);
    }
    expect(works()).toEqual(["COMMIT"]);
    expect(fence.marks("default", "n")).toEqual({ markX: 5, markS: 0, slots: {} });
    expect(fence.marks("default", "pool")).toEqual({ markX: 0, markS: 0, slots: { 1: 6, 3: 6 } });
  });

  test("without a transaction is refused, also where the driver does not tell", () => {
    const { database } = scratch;
    const silent: SqliteDatabase = {
      exec: (sql) => database.exec(sql),
      prepare: (sql) => database.prepare(sql),
    };
    for (const each of [database, silent]) {
      const fence = new SqliteFence(each);
      expect(() => fence.guard(fenced(exclusive(1)))).toThrow(misuse);
      expect(database.isTransaction).toBe(false);
      expect(fence.marks("default", "n").markX).toBe(0);
      database.exec("BEGIN");
      fence.guard(fenced(exclusive(1)));
      expect(() => fence.guarded(fenced(exclusive(1)), {}, () => 1)).toThrow(misuse);
      expect(database.isTransaction).toBe(true);
      database.exec("ROLLBACK");
    }
    database.close();
    expect(() => new SqliteFence(silent)).toThrow(/not open/u);
    scratch.database = scratch.open();
  });

  test("in a deferred transaction nobody newer comes between guard and write [L67]", () => {
    const fence = new SqliteFence(scratch.database);
    fence.guarded(fenced(exclusive(1)), {}, () => undefined);
    const other = scratch.open();
    scratch.database.exec("BEGIN");
    fence.guard(fenced(exclusive(1)));
    new SqliteFence(other).guarded(fenced(exclusive(2)), {}, (database) => doWork("b", database));
    // The mark did not move, so nothing was locked; but SQLite refuses to write after another.
    expect(() => doWork("a")).toThrow(expect.objectContaining({ errcode: 517 }));
    scratch.database.exec("ROLLBACK");
    other.close();
    expect(works()).toEqual(["b"]);
  });

  test("a holder who comes back with the same token writes no mark", () => {
    const fence = new SqliteFence(scratch.database);
    const changes = (): number =>
      (scratch.database.prepare("SELECT total_changes() AS n").get() as { n: number }).n;
    const lease = fenced(exclusive(4), shared(3, "m"), permits(2, [0, 1], "pool"));
    fence.guarded(lease, {}, () => undefined);
    const before = changes();
    fence.guarded(lease, {}, () => undefined);
    fence.guarded(fenced(shared(2, "m")), {}, () => undefined);
    expect(changes()).toBe(before);
  });

  test("only the entries of the given names are shown", () => {
    const fence = new SqliteFence(scratch.database);
    const lease = fenced(exclusive(4, "a"), exclusive(5, "b"));
    fence.guarded(lease, { names: ["b", "b"] }, () => undefined);
    expect(fence.marks("default", "a").markX).toBe(0);
    expect(fence.marks("default", "b").markX).toBe(5);
  });

  test("namespaces, and names that look alike, have marks of their own", () => {
    const fence = new SqliteFence(scratch.database);
    fence.guarded({ namespace: "one", fences: [exclusive(9)] }, {}, () => undefined);
    fence.guarded(fenced(exclusive(8, "N"), exclusive(7, "\u00e4")), {}, () => undefined);
    for (const name of ["n", "n ", "a\u0308"]) {
      expect(fence.marks("default", name).markX).toBe(0);
    }
    fence.guarded(fenced(exclusive(1)), {}, () => undefined);
  });

  test("marks go up to 2^53-1, whatever the connection was opened with", () => {
    const token = Number.MAX_SAFE_INTEGER;
    const options = { readBigInts: true, returnArrays: true, allowBareNamedParameters: false };
    const database = new DatabaseSync(scratch.path, options);
    const fence = new SqliteFence(database);
    fence.guarded(fenced(exclusive(token), permits(token, [0], "pool")), {}, () => undefined);
    expect(fence.marks("default", "n")).toEqual({ markX: token, markS: 0, slots: {} });
    expect(fence.marks("default", "pool").slots).toEqual({ 0: token });
    const late = fenced(exclusive(token - 1));
    expect(() => fence.guarded(late, {}, () => undefined)).toThrow(stale);
    database.close();
  });
});

describe("guarded", () => {
  test("gives what the work gives, and hands it the database", () => {
    const fence = new SqliteFence(scratch.database);
    const given = fence.guarded(fenced(exclusive(1)), {}, (database) => {
      doWork("a", database);
      return database.isTransaction;
    });
    expect(given).toBe(true);
    expect(scratch.database.isTransaction).toBe(false);
    expect(works()).toEqual(["a"]);
  });

  test("nobody else writes while the work runs, even if no mark has moved [L67]", () => {
    const fence = new SqliteFence(scratch.database);
    const other = scratch.open();
    const lease = fenced(exclusive(1));
    fence.guarded(lease, {}, () => undefined);
    fence.guarded(lease, {}, () => {
      const busy = expect.objectContaining({ code: "ERR_SQLITE_ERROR", errcode: 5 });
      expect(() => other.exec("BEGIN IMMEDIATE")).toThrow(busy);
    });
    other.close();
  });

  test("a refusal tells what was shown and what is known; no work runs [L70]", () => {
    const fence = new SqliteFence(scratch.database);
    fence.guarded(fenced(exclusive(2)), {}, () => undefined);
    fence.guarded(fenced(shared(3)), {}, () => undefined);
    let ran = 0;
    const write = (): unknown => fence.guarded(fenced(exclusive(1)), {}, () => (ran += 1));
    expect(write).toThrow(
      expect.objectContaining({
        name: "StaleFenceError",
        code: "STALE_FENCE",
        retry: "change",
        status: 412,
        lock: "n",
        mode: "exclusive",
        token: 1,
        markX: 2,
        markS: 3,
      }),
    );
    expect(ran).toBe(0);
    expect(scratch.database.isTransaction).toBe(false);
  });

  test("work that throws leaves nothing behind, not even its mark", () => {
    const fence = new SqliteFence(scratch.database);
    const failing = (): unknown =>
      fence.guarded(fenced(exclusive(5)), {}, () => {
        doWork("a");
        throw new RangeError("no");
      });
    expect(failing).toThrow(RangeError);
    expect(works()).toEqual([]);
    expect(fence.marks("default", "n").markX).toBe(0);
    fence.guarded(fenced(exclusive(1)), {}, () => doWork("b"));
    expect(works()).toEqual(["b"]);
  });

  test("work that goes on in a promise is rolled back and refused", () => {
    const fence = new SqliteFence(scratch.database);
    const write = (): unknown =>
      fence.guarded(fenced(exclusive(5)), {}, () => {
        doWork("a");
        return Promise.resolve();
      });
    expect(write).toThrow(misuse);
    expect(works()).toEqual([]);
    expect(scratch.database.isTransaction).toBe(false);
  });

  test("what the driver says goes through; afterwards the fence works on", () => {
    const fence = new SqliteFence(scratch.database);
    const other = scratch.open();
    other.exec("BEGIN IMMEDIATE");
    const write = (): unknown => fence.guarded(fenced(exclusive(1)), {}, () => doWork("a"));
    expect(write).toThrow(expect.objectContaining({ code: "ERR_SQLITE_ERROR" }));
    other.close();
    write();
    expect(works()).toEqual(["a"]);
  });

  test("two connections are fenced by the same marks", () => {
    const other = scratch.open();
    const [a, b] = [new SqliteFence(scratch.database), new SqliteFence(other)];
    b.guarded(fenced(exclusive(2)), {}, (database) => doWork("b", database));
    expect(() => a.guarded(fenced(exclusive(1)), {}, () => doWork("a"))).toThrow(stale);
    other.close();
    expect(works()).toEqual(["b"]);
  });
});

describe("install", () => {
  test("bars what is older from the moment it has resolved [I27]", async () => {
    const fence = new SqliteFence(scratch.database);
    expect(await fence.install(fenced(shared(5), exclusive(6, "m")))).toEqual({
      kind: "installed",
    });
    expect(() => fence.guarded(fenced(exclusive(4)), {}, () => doWork("a"))).toThrow(stale);
    fence.guarded(fenced(shared(4)), {}, () => doWork("b"));
    expect(await fence.install(fenced(shared(5), exclusive(6, "m")))).toEqual({
      kind: "installed",
    });
    scratch.reopen();
    const again = new SqliteFence(scratch.database);
    expect(() => again.guarded(fenced(exclusive(5, "m")), {}, () => doWork("c"))).toThrow(stale);
    expect(works()).toEqual(["b"]);
  });

  test("a newer mark is told by name, and nothing is raised [L69]", async () => {
    const fence = new SqliteFence(scratch.database);
    fence.guarded(fenced(exclusive(900, "b"), shared(7, "c")), {}, () => undefined);
    const asked = fenced(exclusive(3, "a"), exclusive(3, "b"), exclusive(3, "c"));
    expect(await fence.install(asked)).toEqual({
      kind: "newer",
      marks: [
        { lock: "b", mode: "exclusive", token: 3, markX: 900, markS: 0 },
        { lock: "c", mode: "exclusive", token: 3, markX: 0, markS: 7 },
      ],
    });
    expect(fence.marks("default", "a").markX).toBe(0);
  });

  test("what keeps it from storing is told as a failed installation", async () => {
    const fence = new SqliteFence(scratch.database);
    const other = scratch.open();
    other.exec("BEGIN IMMEDIATE");
    const failed = {
      name: "FenceInstallError",
      code: "FENCE_INSTALL_FAILED",
      retry: "later",
      status: 502,
      lock: "n",
      token: 3,
    };
    const busy = await rejection(fence.install(fenced(exclusive(3))));
    expect(busy).toMatchObject({ ...failed, cause: { code: "ERR_SQLITE_ERROR" } });
    other.close();
    scratch.database.exec("BEGIN");
    const open = await rejection(fence.install(fenced(exclusive(3))));
    expect(open).toMatchObject({ ...failed, cause: misuse });
    scratch.database.exec("ROLLBACK");
    expect(fence.marks("default", "n").markX).toBe(0);
    expect(JSON.parse(JSON.stringify(open))).toMatchObject({ lock: "n", token: 3, status: 502 });
  });
});
