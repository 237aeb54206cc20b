/** Stored keys of presences: `presence/<namespace>/<id>`; the id names the bell. */
const presenceKey = /^presence\/[^/]*\/([\w-]{1,64})$/;

/** The bell of the presence at a stored key, or at a watched prefix; undefined for other keys. */
export function bellOf(storedKey: string): string | undefined {
  if (!storedKey.startsWith("presence/")) return undefined;
  return presenceKey.exec(storedKey)?.[1];
}

/** The folder of the bells of the store at `path`. */
export function bellFolderOf(path: string): string {
  return `${path}-bells`;
}
