import { existsSync, mkdirSync, rmSync, watch, writeFileSync } from "node:fs";
import type { FSWatcher } from "node:fs";
import { join } from "node:path";

import type { DurationMs } from "../../core/scalars.ts";
import type { CommitUnit } from "../../engine/commit-driver.ts";
import type { Clock, Timer } from "../../time/clock.ts";
import { bellOf } from "./bell-name.ts";

/** How often other processes' commits are looked for where no bell is rung. */
const pollMs = 50;
/** The same for a presence whose bell cannot be heard. */
const bellPollMs = 20;

export interface BellTowerOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** A number that moves when another connection has committed. */
  readonly dataVersion: () => Promise<number>;
}

interface Poller {
  readonly prefix: string;
  readonly notify: (key: string) => void;
  readonly everyMs: DurationMs;
  /** Came while a look was under way, whose answer may be older than the watch. */
  isNew: boolean;
}

/**
 * Hears of commits by other processes.
 *
 * Each watched presence has a bell of its own, a file that whoever's commit concerns the presence
 * writes to. For all else, and for bells that the system has no watch left for, the store's counter
 * of commits is looked at now and then, and the hint names the whole watched area.
 */
export class BellTower {
  readonly #options: BellTowerOptions;
  readonly #bells = new Map<string, FSWatcher>();
  readonly #pollers = new Set<Poller>();
  /** Files made by this tower; they stay until it closes, so that ringers can keep them open. */
  readonly #made = new Set<string>();
  #timer: Timer | undefined;
  #version: number | undefined;
  #isLooking = false;

  constructor(options: BellTowerOptions) {
    this.#options = options;
  }

  /** The bells to ring for these units: one for each presence of others that they concern. */
  bellsOf(units: readonly CommitUnit[]): string[] {
    const bells = new Set<string>();
    for (const { writeKeys, hintKeys } of units) {
      for (const key of writeKeys) this.#addBell(key, bells);
      for (const key of hintKeys) this.#addBell(key, bells);
    }
    return bells.size === 0 ? [] : [...bells];
  }

  /** Calls `notify` when a record below `prefix` may have changed; returns how to stop. */
  listen(prefix: string, notify: (key: string) => void): () => void {
    const bell = bellOf(prefix);
    if (bell === undefined) return this.#poll({ prefix, notify, everyMs: pollMs, isNew: false });
    let stopPoll: (() => void) | undefined;
    const pollInstead = (): void => {
      stopPoll ??= this.#poll({ prefix, notify, everyMs: bellPollMs, isNew: false });
    };
    const watcher = this.#hang(bell, () => notify(prefix), pollInstead);
    return () => {
      if (watcher !== undefined) this.#takeDown(bell, watcher);
      stopPoll?.();
    };
  }

  close(): void {
    for (const watcher of this.#bells.values()) watcher.close();
    this.#bells.clear();
    this.#pollers.clear();
    this.#rest();
    for (const bell of this.#made) removeBell(join(this.#options.folder, bell));
    this.#made.clear();
  }

  #addBell(storedKey: string, bells: Set<string>): void {
    const bell = bellOf(storedKey);
    if (bell !== undefined && !this.#bells.has(bell)) bells.add(bell);
  }

  /** Too many watches (EMFILE, ENOSPC), or a folder that cannot be written, is no failure. */
  #hang(bell: string, ring: () => void, fail: () => void): FSWatcher | undefined {
    const { folder } = this.#options;
    const path = join(folder, bell);
    try {
      mkdirSync(folder, { recursive: true });
      if (!existsSync(path)) writeFileSync(path, "\0", { flag: "a" });
      this.#made.add(bell);
      const watcher = watch(path, { persistent: false }, ring);
      watcher.on("error", () => {
        this.#takeDown(bell, watcher);
        fail();
      });
      this.#bells.set(bell, watcher);
      return watcher;
    } catch {
      fail();
      return undefined;
    }
  }

  #takeDown(bell: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#bells.get(bell) === watcher) this.#bells.delete(bell);
  }

  #poll(poller: Poller): () => void {
    this.#pollers.add(poller);
    // What is committed before the first look has shown the counter must not be missed.
    if (this.#isLooking) poller.isNew = true;
    else void this.#look();
    return () => {
      this.#pollers.delete(poller);
      if (this.#pollers.size === 0) this.#rest();
    };
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#version = undefined;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const version = await this.#readVersion();
    this.#isLooking = false;
    if (this.#pollers.size === 0) return this.#rest();
    const isNews = version !== this.#version;
    this.#version = version;
    for (const poller of this.#pollers) {
      if (isNews || poller.isNew) poller.notify(poller.prefix);
      poller.isNew = false;
    }
    let everyMs = pollMs;
    for (const poller of this.#pollers) everyMs = Math.min(everyMs, poller.everyMs);
    this.#timer?.cancel();
    this.#timer = this.#options.clock.timer(everyMs, () => void this.#look());
  }

  /** A look that fails is a hint that did not come; whoever waits looks for himself in the end. */
  async #readVersion(): Promise<number | undefined> {
    try {
      return await this.#options.dataVersion();
    } catch {
      return this.#version;
    }
  }
}

/** A bell that cannot be removed, in a folder that another user made, disturbs nobody. */
function removeBell(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The sweep of its user's processes tries again.
  }
}
