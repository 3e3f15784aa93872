/** Far enough apart to be told from each other beside one another; every key also has its name beside its colour. */
const hues = ["cyan", "orange", "violet", "green", "pink", "indigo", "yellow", "teal", "red", "grape", "lime", "blue"];

/** The colour of the key at a place of the wheel. */
export function colorOf(place: number): string {
  const hue = hues[place % hues.length] ?? "gray";
  return `light-dark(var(--mantine-color-${hue}-7), var(--mantine-color-${hue}-5))`;
}
