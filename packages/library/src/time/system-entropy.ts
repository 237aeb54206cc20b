import { randomFillSync } from "node:crypto";

import type { Entropy } from "./clock.ts";

const idBytes = 16;
const idsPerPool = 512;

/**
 * The chance of the host: ids from the system's cryptographic source, drawn in pools because one
 * draw costs as much as a hundred ids.
 */
export function createSystemEntropy(): Entropy {
  const pool = Buffer.allocUnsafeSlow(idBytes * idsPerPool);
  let texts = "";
  let used = idsPerPool;

  function refill(): void {
    randomFillSync(pool);
    used = 0;
    texts = "";
    for (let at = 0; at < pool.length; at += idBytes) {
      texts += pool.toString("base64url", at, at + idBytes);
    }
    pool.fill(0);
  }

  return {
    id(): string {
      if (used === idsPerPool) refill();
      const start = used * 22;
      used += 1;
      return texts.slice(start, start + 22);
    },
    fraction: () => Math.random(),
  };
}
