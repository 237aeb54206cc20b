import { runCommandLine } from "./cli/command-line.ts";
import { composeCli } from "./compose.ts";

// Under a too old Node a launcher stands between the caller and this process, at the other end of
// a channel. When it dies, even of SIGKILL, this process is to end as if it had been told to.
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

process.exit(await runCommandLine(composeCli(), process.argv.slice(2)));
