/**
 * The steps of `admission.smt2`, in TypeScript: what admission to one exclusive lock does to
 * counter, grant and end. A grant reclaims what has lapsed; a refused step changes nothing.
 */
export interface Admission {
  readonly counter: number;
  readonly held: boolean;
  readonly id: number;
  readonly token: number;
  readonly end: number;
  readonly now: number;
  /** Ghosts of the proof: greatest token given out, greatest token that is over, greatest id. */
  readonly issued: number;
  readonly over: number;
  readonly used: number;
}

export type AdmissionStep =
  | { readonly do: "grant"; readonly id: number; readonly length: number }
  | {
      readonly do: "renew";
      readonly id: number;
      readonly length: number;
      readonly shortens: boolean;
    }
  | { readonly do: "release"; readonly id: number }
  | { readonly do: "pass"; readonly length: number };

/** A lock that was never used, above a floor. */
export function untouched(floor: number, now: number): Admission {
  const nobody = { held: false, id: 0, token: 0, end: 0 };
  return { counter: floor, ...nobody, now, issued: 0, over: 0, used: 0 };
}

export function isLive({ held, now, end }: Admission): boolean {
  return held && now < end;
}

export function step(before: Admission, what: AdmissionStep): Admission {
  switch (what.do) {
    case "grant":
      return grant(before, what);
    case "renew": {
      const end = before.now + what.length;
      if (!isLive(before) || before.id !== what.id) return before;
      return { ...before, end: what.shortens ? end : Math.max(before.end, end) };
    }
    case "release": {
      if (!before.held || before.id !== what.id) return before;
      const nobody = { held: false, id: 0, token: 0, end: 0 };
      return { ...before, ...nobody, over: Math.max(before.over, before.token) };
    }
    case "pass": {
      const now = before.now + what.length;
      const hasEnded = before.held && now >= before.end;
      return { ...before, now, over: Math.max(before.over, hasEnded ? before.token : 0) };
    }
  }
}

function grant(before: Admission, what: AdmissionStep & { readonly do: "grant" }): Admission {
  if (isLive(before)) return before;
  const token = before.counter + 1;
  return {
    counter: token,
    held: true,
    id: what.id,
    token,
    end: before.now + what.length,
    now: before.now,
    issued: Math.max(before.issued, token),
    over: Math.max(before.over, before.held ? before.token : 0),
    used: Math.max(before.used, what.id),
  };
}

/** The state as a term of the proof. */
export function stateTerm(state: Admission): string {
  const { counter, held, id, token, end, now, issued, over, used } = state;
  const fields = [counter, held, id, token, end, now, issued, over, used];
  return `(state ${fields.map((each) => term(each)).join(" ")})`;
}

/** The step applied to a state, as a term of the proof. */
export function stepTerm(state: string, what: AdmissionStep): string {
  switch (what.do) {
    case "grant":
      return `(grant ${state} ${term(what.id)} ${term(what.length)})`;
    case "renew":
      return `(renew ${state} ${term(what.id)} ${term(what.length)} ${term(what.shortens)})`;
    case "release":
      return `(release ${state} ${term(what.id)})`;
    case "pass":
      return `(pass ${state} ${term(what.length)})`;
  }
}

function term(value: number | boolean): string {
  return typeof value === "number" && value < 0 ? `(- ${-value})` : String(value);
}
