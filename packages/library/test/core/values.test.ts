import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDuration } from "../../src/core/duration.ts";
import { decodeKey, encodeKey, encodePrefix, orderedNumber } from "../../src/core/key.ts";
import { checkName, checkNote, checkOwner, utf8Bytes } from "../../src/core/name.ts";

const refused = expect.objectContaining({ code: "INVALID_ARGUMENT" });

describe("keys", () => {
  const part = fc.string({ unit: fc.constantFrom("a", "b", "/", "~", "0", "1", "é", "😀") });
  const parts = fc.array(part, { minLength: 1, maxLength: 4 });

  test("decode is the inverse of encode, so no two tuples share a stored form [L2]", () => {
    fc.assert(
      fc.property(parts, (key) => {
        expect(decodeKey(encodeKey(key))).toEqual(key);
      }),
    );
  });

  test("a stored form begins with a prefix exactly when the parts do [L2] [LS10]", () => {
    const samples = fc.tuple(parts, fc.array(part, { maxLength: 2 }), part);
    fc.assert(
      fc.property(samples, ([head, rest, partial]) => {
        const inside = [...head, partial + rest.join(""), ...rest];
        expect(encodeKey(inside).startsWith(encodePrefix(head, partial))).toBe(true);
      }),
    );
    fc.assert(
      fc.property(parts, parts, (head, other) => {
        const begins = head.every((each, place) => each === other[place]);
        const isBelow = other.length > head.length && begins;
        expect(encodeKey(other).startsWith(encodePrefix(head, ""))).toBe(isBelow);
      }),
    );
  });

  test("numbers as text keep their order", () => {
    const numbers = fc.nat(Number.MAX_SAFE_INTEGER);
    fc.assert(
      fc.property(numbers, numbers, (one, other) => {
        expect(orderedNumber(one) < orderedNumber(other)).toBe(one < other);
      }),
    );
  });
});

describe("durations", () => {
  const good: readonly (readonly [unknown, number])[] = [
    [1500.5, 1501],
    [0.4, 1],
    [1e-9, 1],
    ["1.5s", 1500],
    ["1.1s", 1100],
    ["250ms", 250],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["7d", 604_800_000],
    ["0.2ms", 1],
    ["-5s", -5_000],
    [-0, 0],
    [-0.5, 0],
    [10.7, 11],
    [1e300, 1e300],
  ];
  test.each(good)("%s reads as %d ms [L3] [LS11]", (value, ms) => {
    expect(Object.is(parseDuration("lease", value), ms)).toBe(true);
  });

  const bad = [
    "5x",
    "",
    "s",
    "1e3s",
    " 1s",
    "1 s",
    "1s ",
    "+1s",
    ".5s",
    NaN,
    true,
    null,
    undefined,
  ];
  test.each([...bad, 10n, {}, [5], Infinity, -Infinity])("%s is refused [L3] [LS11]", (value) => {
    expect(() => parseDuration("lease", value)).toThrow(refused);
  });

  test("names the parameter and the value, and allows Infinity where asked [L3]", () => {
    const endless = { allowsEndless: true };
    expect(() => parseDuration("lease", "5x")).toThrow(/lease.*5x/u);
    expect(parseDuration("wait", Infinity, endless)).toBe(Infinity);
    expect(() => parseDuration("wait", -Infinity, endless)).toThrow(refused);
    expect(() => parseDuration("wait", NaN, endless)).toThrow(refused);
  });

  test("a whole number of a unit is exact [L3]", () => {
    fc.assert(
      fc.property(fc.nat(100_000), (tenths) => {
        expect(parseDuration("lease", `${tenths / 10}s`)).toBe(tenths * 100);
      }),
    );
  });
});

describe("names", () => {
  const bytes1025 = "é".repeat(512) + "a";
  const bad = ["", undefined, null, 7, "\uD800", "a\nb", "\u0000", "\u007F", "\u0085", bytes1025];
  test.each(bad)("%j is refused [L1] [LS9]", (value) => {
    expect(() => checkName("name", value)).toThrow(refused);
  });

  const good = [
    "   ",
    "/",
    "a//b",
    ".",
    "..",
    "\u00e4",
    "a\u0308",
    "é".repeat(512),
    "😀".repeat(256),
  ];
  test.each(good)("%j is an ordinary name of its own [L1] [L2] [LS9]", (value) => {
    expect(checkName("name", value)).toBe(value);
  });

  test("a refusal says parameter, position and limit [L1]", () => {
    expect(() => checkName("requests", bytes1025, 3)).toThrow(
      expect.objectContaining({ parameter: "requests", position: 3, limit: 1024 }),
    );
  });

  test("owners end at 256 bytes, notes at 1024 and may be empty where allowed", () => {
    expect(checkOwner("owner", "o".repeat(256))).toHaveLength(256);
    expect(() => checkOwner("owner", "o".repeat(257))).toThrow(refused);
    expect(() => checkOwner("owner", "a\tb")).toThrow(refused);
    expect(checkNote("note", "", 0)).toBe("");
    expect(checkNote("note", "two\nlines", 0)).toBe("two\nlines");
    expect(() => checkNote("reason", "", 1)).toThrow(refused);
    expect(() => checkNote("note", "n".repeat(1025), 0)).toThrow(refused);
    expect(() => checkNote("note", "\uDC00", 0)).toThrow(refused);
  });

  test("the length in UTF-8 is what an encoder makes", () => {
    const encoder = new TextEncoder();
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(utf8Bytes(text)).toBe(encoder.encode(text).length);
      }),
    );
  });
});
