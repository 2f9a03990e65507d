/** Instants and lengths of virtual time. */

/** Microseconds since 1970 of an RFC 3339 timestamp in UTC; numbers hold them exactly until the year 2255. */
export function micros(at: string): number {
  const [, whole, fraction = ""] = /^(.*?)(?:\.(\d+))?Z$/.exec(at) ?? [];
  return Date.parse(`${whole ?? at}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400e6],
  ["h", 3_600e6],
  ["m", 60e6],
  ["s", 1e6],
  ["ms", 1e3],
  ["µs", 1],
];

/** A length in the two largest units that it has. */
export function length(us: number): string {
  const parts: string[] = [];
  let rest = Math.round(us);
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) {
      parts.push(`${count}${unit}`);
    }
    if (parts.length === 2 || (parts.length === 1 && count === 0)) {
      break;
    }
  }
  return parts.join("") || "0s";
}

/** An instant without what is the same for all: `01-03 14:00:05.25`. */
export function clock(at: string): string {
  return at.replace(/^\d{4}-/, "").replace("T", " ").replace(/Z$/, "");
}
