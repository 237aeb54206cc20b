import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

import type { FenceEntry, Fenced } from "../../src/core/fence/entry.ts";
import { noMarks, type FenceMarks } from "../../src/core/fence/rule.ts";
import { StaleFenceError, type StaleFenceFacts } from "../../src/errors.ts";
import { MemoryFence, SqliteFence } from "../../src/fence/index.ts";
import type { InstallResult } from "../../src/fence/index.ts";
import { scratchFolder } from "../engine/scratch-folder.ts";

/** `"accepted"`, or the entry that was refused with the marks it fell behind. */
type Answer = "accepted" | StaleFenceFacts;

/** One form of the guard over a resource that counts the writes it has accepted. */
export interface Form {
  readonly form: "table" | "row" | "memory";
  write(shown: Fenced): Answer;
  /** Absent for rows, which have no marks before they are written. */
  install?(shown: Fenced): Promise<InstallResult>;
  marks(namespace: string, name: string): FenceMarks;
  /** How many guarded writes the resource has stored. */
  writes(): number;
  /** Ends the process that holds the resource and starts another one. */
  restart(): void;
  close(): void;
}

/** Slots that the rows of a {@link rowForm} have columns for. */
const rowColumns = { x: "mark_x", s: "mark_s", slots: ["slot_0", "slot_1", "slot_2"] } as const;

function answerOf(write: () => unknown): Answer {
  try {
    write();
    return "accepted";
  } catch (error) {
    if (!(error instanceof StaleFenceError)) throw error;
    const { lock, mode, token, markX, markS } = error;
    return { lock, mode, token, markX, markS };
  }
}

/** A database file of its own. Nothing here is about power failures, so nothing is flushed. */
export class Scratch {
  readonly #folder = scratchFolder();
  database: DatabaseSync = this.open();

  get path(): string {
    return join(this.#folder.path, "data.db");
  }

  open(): DatabaseSync {
    const database = new DatabaseSync(this.path);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    return database;
  }

  reopen(): void {
    this.database.close();
    this.database = this.open();
  }

  close(): void {
    this.database.close();
    this.#folder.remove();
  }
}

function counted(scratch: Scratch): number {
  const row = scratch.database.prepare("SELECT count(*) AS writes FROM work").get();
  return (row as { writes: number }).writes;
}

function makeWork(scratch: Scratch): void {
  scratch.database.exec("CREATE TABLE work (token)");
}

function insertWork(database: DatabaseSync, shown: Fenced): void {
  database.prepare("INSERT INTO work VALUES (?)").run(shown.fences[0]?.token ?? null);
}

/** {@link SqliteFence} with marks in its table. */
function tableForm(): Form {
  const scratch = new Scratch();
  makeWork(scratch);
  let fence = new SqliteFence(scratch.database);
  return {
    form: "table",
    write: (shown) =>
      answerOf(() => fence.guarded(shown, {}, (database) => insertWork(database, shown))),
    install: (shown) => fence.install(shown),
    marks: (namespace, name) => fence.marks(namespace, name),
    writes: () => counted(scratch),
    restart: () => {
      scratch.reopen();
      fence = new SqliteFence(scratch.database);
    },
    close: () => scratch.close(),
  };
}

/** A table with a row for each name, which carries its own marks. */
function rowForm(): Form {
  const scratch = new Scratch();
  makeWork(scratch);
  scratch.database.exec(
    "CREATE TABLE thing (namespace, name, mark_x, mark_s, slot_0, slot_1, slot_2)",
  );
  let fence = new SqliteFence(scratch.database);
  const rowOf = (namespace: string, name: string): Record<string, unknown> | undefined =>
    scratch.database
      .prepare("SELECT * FROM thing WHERE namespace = ? AND name = ?")
      .get(namespace, name);
  const update = (shown: Fenced, { name }: FenceEntry): void => {
    const { namespace } = shown;
    if (rowOf(namespace, name) === undefined) {
      scratch.database
        .prepare("INSERT INTO thing (namespace, name) VALUES (?, ?)")
        .run(namespace, name);
    }
    const own = fence.where(shown, rowColumns, { names: [name] });
    const text = `UPDATE thing SET ${own.assignment}
      WHERE namespace = ? AND name = ? AND ${own.condition}`;
    const { changes } = scratch.database.prepare(text).run(own.parameters, namespace, name);
    if (changes === 0) own.check(rowOf(namespace, name));
  };
  return {
    form: "row",
    write: (shown) =>
      answerOf(() => {
        scratch.database.exec("BEGIN IMMEDIATE");
        try {
          for (const entry of shown.fences) update(shown, entry);
          insertWork(scratch.database, shown);
          scratch.database.exec("COMMIT");
        } catch (error) {
          scratch.database.exec("ROLLBACK");
          throw error;
        }
      }),
    marks: (namespace, name) => {
      const row = rowOf(namespace, name) as Record<string, number | null> | undefined;
      if (row === undefined) return noMarks;
      const marked = rowColumns.slots.map((column, slot) => [slot, row[column] ?? 0] as const);
      const slots = Object.fromEntries(marked.filter(([, mark]) => mark > 0));
      return { markX: row["mark_x"] ?? 0, markS: row["mark_s"] ?? 0, slots };
    },
    writes: () => counted(scratch),
    restart: () => {
      scratch.reopen();
      fence = new SqliteFence(scratch.database);
    },
    close: () => scratch.close(),
  };
}

/** {@link MemoryFence}, whose resource goes with its process and so never restarts. */
function memoryForm(): Form {
  const fence = new MemoryFence();
  let writes = 0;
  return {
    form: "memory",
    write: (shown) => answerOf(() => fence.guarded(shown, {}, () => (writes += 1))),
    install: (shown) => fence.install(shown),
    marks: (namespace, name) => fence.marks(namespace, name),
    writes: () => writes,
    restart: () => undefined,
    close: () => undefined,
  };
}

export const makeForms: readonly (() => Form)[] = [tableForm, rowForm, memoryForm];

/** Runs `body` on a fresh resource of each form. */
export async function onEachForm(body: (form: Form) => Promise<void> | void): Promise<void> {
  for (const make of makeForms) {
    const form = make();
    try {
      await body(form);
    } finally {
      form.close();
    }
  }
}

export function fenced(...fences: FenceEntry[]): Fenced {
  return { namespace: "default", fences };
}

export function exclusive(token: number, name = "n"): FenceEntry {
  return { name, mode: "exclusive", token };
}

export function shared(token: number, name = "n"): FenceEntry {
  return { name, mode: "shared", token };
}

export function permits(token: number, slots: readonly number[], name = "n"): FenceEntry {
  return { name, mode: "permits", token, slots };
}
