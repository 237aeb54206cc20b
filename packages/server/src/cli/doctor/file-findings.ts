import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readSync,
  statSync,
  statfsSync,
} from "node:fs";

import type { Settings } from "../../config.ts";
import { folderOf } from "../../config.ts";
import type { Finding, Verdict } from "./finding.ts";

/** How SQLite gets on with kinds of file systems, by the numbers of statfs(2). */
const fileSystems: ReadonlyMap<number, { readonly kind: string; readonly verdict: Verdict }> =
  new Map([
    [0x69_69, { kind: "nfs", verdict: "wrong" }],
    [0x51_7b, { kind: "smb", verdict: "wrong" }],
    [0xff_53_4d_42, { kind: "cifs", verdict: "wrong" }],
    [0xfe_53_4d_42, { kind: "smb2", verdict: "wrong" }],
    [0x53_46_41_4f, { kind: "afs", verdict: "wrong" }],
    [0x00_c3_64_00, { kind: "ceph", verdict: "wrong" }],
    [0x0b_d0_0b_d0, { kind: "lustre", verdict: "wrong" }],
    [0x01_02_19_97, { kind: "9p", verdict: "note" }],
    [0x65_73_55_46, { kind: "fuse", verdict: "note" }],
    [0x01_02_19_94, { kind: "tmpfs", verdict: "note" }],
    [0xef_53, { kind: "ext4", verdict: "good" }],
    [0x58_46_53_42, { kind: "xfs", verdict: "good" }],
    [0x91_23_68_3e, { kind: "btrfs", verdict: "good" }],
    [0x2f_c1_2f_c1, { kind: "zfs", verdict: "good" }],
    [0x79_4c_76_30, { kind: "overlay", verdict: "good" }],
  ]);

const cures: Readonly<Record<string, string>> = Object.freeze({
  "9p": "Processes of one virtual machine only: its shared memory does not reach the others.",
  fuse: "Make sure that it is a local file system: WAL needs memory that all processes share.",
  tmpfs: "Locks and tokens are gone after a restart; put the file on a disk if that matters.",
});
const networkCure = "Put the file on a local disk: SQLite's WAL does not work over a network.";

/** Examines the folder of a store, before anything is opened. */
export function examineFolder(settings: Settings): readonly Finding[] {
  const folder = folderOf(settings);
  if (folder === null || (settings.isDefaultStore && !exists(folder))) return [];
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { message } = error as Error;
    const cure =
      "Make the folder, or allow this user to read and write it, or choose another --store.";
    return [{ subject: "folder", verdict: "wrong", text: message, cure }];
  }
  return [permissionFinding("folder", folder), fileSystemFinding(folder)];
}

/** Examines the file of a store that was opened. */
export function examineFile({ storePath }: Settings): readonly Finding[] {
  if (storePath === null || !exists(storePath)) return [];
  return [permissionFinding("file", storePath), journalFinding(storePath)];
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Whoever may write the file may take every lock away. */
function permissionFinding(subject: string, path: string): Finding {
  const { mode } = statSync(path);
  const octal = (mode & 0o7777).toString(8).padStart(4, "0");
  const isSticky = (mode & 0o1000) !== 0;
  if ((mode & 0o002) === 0) return { subject, verdict: "good", text: `${path}, mode ${octal}` };
  const text = `${path} can be written by everybody (mode ${octal}${isSticky ? ", sticky" : ""})`;
  return { subject, verdict: "note", text, cure: `chmod o-w ${path}` };
}

function fileSystemFinding(folder: string): Finding {
  const { type } = statfsSync(folder);
  // Negative where the system keeps the number in a signed word.
  const number = type < 0 ? type + 2 ** 32 : type;
  const found = fileSystems.get(number);
  const subject = "file system";
  if (found === undefined) {
    return { subject, verdict: "good", text: `unknown kind 0x${number.toString(16)}` };
  }
  const { kind, verdict } = found;
  if (verdict === "good") return { subject, verdict, text: kind };
  return { subject, verdict, text: kind, cure: cures[kind] ?? networkCure };
}

/** Where a SQLite file says which journal it uses, and what stands there for WAL. */
const journalByte = 18;
const walVersion = 2;

function journalFinding(path: string): Finding {
  const subject = "journal";
  const version = readByte(path, journalByte);
  if (version === walVersion) return { subject, verdict: "good", text: "WAL" };
  const cure = "Another program has changed it; stop everything and open the file once again.";
  return { subject, verdict: "wrong", text: "the file is not in WAL mode", cure };
}

function readByte(path: string, at: number): number | undefined {
  const file = openSync(path, "r");
  try {
    const byte = new Uint8Array(1);
    return readSync(file, byte, 0, 1, at) === 1 ? byte[0] : undefined;
  } finally {
    closeSync(file);
  }
}
