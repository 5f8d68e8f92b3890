const LOWEST = 1;
const HIGHEST = 10_000;
const MAX_LEVERAGES = 100;

/**
 * The leverages of a text: whole numbers separated by commas, semicolons or white space. If the
 * text is invalid, the result is a sentence about the error (interface, "Server configuration";
 * decisions, 4.10).
 */
export function leveragesOf(text: string): readonly number[] | string {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== "");
  if (parts.length === 0) return "Enter at least one leverage.";
  if (parts.length > MAX_LEVERAGES) return `Enter at most ${MAX_LEVERAGES} leverages.`;
  const wrong = parts.find((part) => !/^\d{1,5}$/.test(part) || Number(part) < LOWEST || Number(part) > HIGHEST);
  if (wrong !== undefined) return `“${wrong}” is not a whole number from ${LOWEST} to ${HIGHEST}.`;
  const numbers = parts.map(Number);
  const repeated = numbers.find((number, index) => numbers.indexOf(number) !== index);
  return repeated === undefined ? numbers : `${repeated} is listed twice.`;
}
