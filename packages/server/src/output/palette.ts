type Paint = (text: string) => string;

/** Ways to set words off; each leaves its text as it is where colours are not wanted. */
export interface Palette {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly good: Paint;
  readonly attention: Paint;
  readonly bad: Paint;
}

/** Codes of ECMA-48: what switches an attribute on, and what switches it off again. */
const codes = Object.freeze({
  bold: [1, 22],
  dim: [2, 22],
  good: [32, 39],
  attention: [33, 39],
  bad: [31, 39],
} as const);

/** A palette that colours, or one that changes nothing. */
export function createPalette(isColoured: boolean): Palette {
  function paint(style: keyof typeof codes): Paint {
    const [on, off] = codes[style];
    return (text) => (isColoured ? `\u001b[${on}m${text}\u001b[${off}m` : text);
  }
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    good: paint("good"),
    attention: paint("attention"),
    bad: paint("bad"),
  };
}
