import { existsSync } from "node:fs";

import { expect, test } from "vitest";

import { GatedCommand } from "../src/cli/run/gated-command.ts";
import { World } from "./world.ts";

test("a gate that is given up never becomes the command [LS157]", async () => {
  await using world = new World();
  const command = ["touch", world.path("touched")];
  const terms = { command, environment: process.env, isDetached: true };
  const abandoned = await GatedCommand.start(terms);
  abandoned.abandon();
  expect(await abandoned.exited).toEqual({ code: 125, signal: null });
  const opened = await GatedCommand.start({ ...terms, command: ["true"] });
  opened.open();
  expect(await opened.exited).toEqual({ code: 0, signal: null });
  expect(existsSync(world.path("touched"))).toBe(false);
});
