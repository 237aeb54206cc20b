import { receiveMessageOnPort, workerData } from "node:worker_threads";

import { spinWhile } from "../../time/block.ts";
import { readHostTime } from "../../time/host-time.ts";
import { createSystemEntropy } from "../../time/system-entropy.ts";
import { unflattenUnits } from "./host-protocol.ts";
import type { HostReply, HostRequest, WorkerStart } from "./host-protocol.ts";
import { classifySqliteError } from "./sqlite-failure.ts";
import { SqliteHost } from "./sqlite-host.ts";

/** How long the thread waits on the spot for the call that follows a lone one. */
const spinMsMax = 0.1;

// The entry of a worker thread: answers the requests of its `WorkerLink` one after the other.
const { host: options, port, requests } = workerData as WorkerStart;
const host = new SqliteHost(options, { time: readHostTime(), entropy: createSystemEntropy() });
let handled = 0;

port.on("message", (first: HostRequest) => {
  for (let request: HostRequest | undefined = first; request !== undefined;) {
    handled += 1;
    port.postMessage(reply(request));
    host.maintain();
    request = request.kind === "commit" && request.isLone ? followUp() : undefined;
  }
});

/** The next request, if it comes at once. */
function followUp(): HostRequest | undefined {
  if (!spinWhile(requests, handled, spinMsMax)) return undefined;
  return receiveMessageOnPort(port)?.message as HostRequest | undefined;
}

function reply(request: HostRequest): HostReply {
  try {
    return { id: request.id, answer: answer(request) };
  } catch (error) {
    return { id: request.id, failure: classifySqliteError(error, "work") };
  }
}

function answer(request: HostRequest): unknown {
  switch (request.kind) {
    case "open":
      return host.open(request.patienceMs);
    case "commit":
      return host.commit({ ...request, units: unflattenUnits(request.units) });
    case "scan":
      return host.scan(request.range, request.patienceMs);
    case "version":
      return host.dataVersion();
    case "close":
      return host.close();
  }
}
