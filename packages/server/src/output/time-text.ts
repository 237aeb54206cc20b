const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** A length of time in its one or two largest units: `850ms`, `28s`, `3m 5s`, `2h 10m`, `4d 3h`. */
export function spanText(spanMs: number): string {
  const ms = Math.max(0, Math.round(spanMs));
  if (ms < secondMs) return `${ms}ms`;
  const units = [
    { name: "d", ms: dayMs },
    { name: "h", ms: hourMs },
    { name: "m", ms: minuteMs },
    { name: "s", ms: secondMs },
  ];
  const first = units.findIndex((unit) => ms >= unit.ms);
  const parts: string[] = [];
  let restMs = ms;
  for (const unit of units.slice(first, first + 2)) {
    const count = Math.floor(restMs / unit.ms);
    restMs -= count * unit.ms;
    if (count > 0) parts.push(`${count}${unit.name}`);
  }
  return parts.join(" ");
}

/** An instant in local time: `14:03:22`, with the date before it when that is not today's. */
export function clockText(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  const month = twoDigits(at.getMonth() + 1);
  return `${at.getFullYear()}-${month}-${twoDigits(at.getDate())} ${time}`;
}

/** An instant for people: `14:03:22, 2m ago` or `14:03:22, in 28s`. */
export function instantText(atMs: number, nowMs: number): string {
  return `${clockText(atMs, nowMs)}, ${relativeText(atMs, nowMs)}`;
}

/** How far an instant is away: `2m ago`, `in 28s`, `now`. */
export function relativeText(atMs: number, nowMs: number): string {
  const distanceMs = atMs - nowMs;
  if (Math.abs(distanceMs) < secondMs) return "now";
  return distanceMs > 0 ? `in ${spanText(distanceMs)}` : `${spanText(-distanceMs)} ago`;
}
