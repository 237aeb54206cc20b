// Brings the Debian programs that tests start. Runs before the tests, and does nothing when all
// are there. A test whose program is missing fails; it is never skipped silently.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

interface Provision {
  /** Debian package. */
  readonly packageName: string;
  /** One of these files proves that the package is there. */
  readonly files: readonly string[];
  readonly usedBy: string;
}

const PROVISIONS: readonly Provision[] = [
  {
    packageName: "strace",
    files: ["/usr/bin/strace"],
    usedBy: "tests that count the system calls of a commit",
  },
  {
    packageName: "faketime",
    files: ["/usr/bin/faketime"],
    usedBy: "tests that step the wall clock under a running process",
  },
  {
    packageName: "spin",
    files: ["/usr/bin/spin"],
    usedBy: "the model of one lock",
  },
  {
    packageName: "gcc",
    files: ["/usr/bin/gcc"],
    usedBy: "the model of one lock, which Spin turns into C",
  },
  {
    packageName: "libc6-dev",
    files: ["/usr/include/stdio.h"],
    usedBy: "the model of one lock, which Spin turns into C",
  },
  {
    packageName: "z3",
    files: ["/usr/bin/z3"],
    usedBy: "the proof of the arithmetic of admission",
  },
];

function aptGet(...words: readonly string[]): number {
  const result = spawnSync("apt-get", ["-qq", "-o", "Dpkg::Use-Pty=0", ...words], {
    // RUNLEVEL keeps a package's service from being started by its installation.
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return result.status ?? 1;
}

function isMissing(provision: Provision): boolean {
  return !provision.files.some((file) => existsSync(file));
}

function provisionAll(): void {
  const missing = PROVISIONS.filter(isMissing);
  if (missing.length === 0) return;
  const names = missing.map((entry) => entry.packageName);
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    console.error(`provision: installing ${names.join(", ")}`);
    aptGet("update");
    aptGet("install", "-y", "--no-install-recommends", ...names);
  }
  const remaining = missing.filter(isMissing);
  for (const entry of remaining) {
    console.error(`provision: ${entry.packageName} is missing; ${entry.usedBy} will fail`);
  }
  if (remaining.length > 0) {
    const wanted = remaining.map((entry) => entry.packageName).join(" ");
    console.error(`provision: as root, run: apt-get install ${wanted}`);
  }
}

provisionAll();
