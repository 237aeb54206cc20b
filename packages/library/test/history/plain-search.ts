import { conflicts } from "../../src/core/lock/validity.ts";
import type { Mode } from "../../src/core/lock/record.ts";
import type { RecordedCall } from "./recorded-call.ts";

interface LiveGrant {
  readonly token: number;
  readonly mode: Mode;
  readonly mayEndMs: number;
}

/**
 * The question of `linearize` for a few answered calls of one lock, asked without any of its
 * shortcuts: every order, an expiry as a step of its own, no memory.
 */
export function isLinearizablePlainly(calls: readonly RecordedCall[]): boolean {
  return search(calls, 0, []);
}

function search(
  left: readonly RecordedCall[],
  counter: number,
  grants: readonly LiveGrant[],
): boolean {
  if (left.length === 0) return true;
  const firstEndMs = Math.min(...left.map(({ returnedMs }) => returnedMs));
  const expired = grants.filter(({ mayEndMs }) => mayEndMs <= firstEndMs);
  if (expired.some((grant) => search(left, counter, without(grants, grant)))) return true;
  return left.some((call) => {
    if (call.calledMs > firstEndMs) return false;
    const rest = left.filter((each) => each !== call);
    const after = take(call, counter, { grants, rest });
    return after !== undefined && search(rest, after.counter, after.grants);
  });
}

interface After {
  readonly counter: number;
  readonly grants: readonly LiveGrant[];
}

function take(
  call: RecordedCall,
  counter: number,
  {
    grants,
    rest,
  }: { readonly grants: readonly LiveGrant[]; readonly rest: readonly RecordedCall[] },
): After | undefined {
  if (call.answer === "unknown") throw new Error("the plain search knows no unknown calls");
  if (call.do === "force") {
    const isWhole = grants.every(({ token }) => call.ended.includes(token));
    return isWhole ? { counter: Math.max(counter, ...call.ended), grants: [] } : undefined;
  }
  if (call.do === "acquire") {
    const isBarred = grants.some(({ mode }) => conflicts(mode, call.mode));
    if (call.answer === "fail")
      return isBarred || isBehind(call, rest) ? { counter, grants } : undefined;
    if (isBarred || call.token <= counter) return undefined;
    const own = { token: call.token, mode: call.mode, mayEndMs: call.calledMs + call.leaseMs - 2 };
    return { counter: call.token, grants: [...grants, own] };
  }
  const grant = grants.find(({ token }) => token === call.token);
  if (call.answer === "fail") return grant === undefined ? { counter, grants } : undefined;
  if (grant === undefined) return undefined;
  const others = without(grants, grant);
  if (call.do === "release") return { counter, grants: others };
  const mayEndMs = Math.max(grant.mayEndMs, call.calledMs + call.leaseMs - 2);
  return { counter, grants: [...others, { ...grant, mayEndMs }] };
}

/** Whether a waiting call that is not placed yet may stand in the queue before this one. */
function isBehind(call: RecordedCall, rest: readonly RecordedCall[]): boolean {
  return rest.some(
    (waiter) =>
      waiter.do === "acquire" &&
      waiter.waits &&
      call.do === "acquire" &&
      conflicts(waiter.mode, call.mode) &&
      waiter.calledMs <= call.returnedMs &&
      waiter.returnedMs >= call.calledMs,
  );
}

function without(grants: readonly LiveGrant[], grant: LiveGrant): readonly LiveGrant[] {
  return grants.filter((each) => each !== grant);
}
