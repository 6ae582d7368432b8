// A form over what others change too: only what was changed in it is sent.

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Return the fields that differ from what a form began with. */
export const changedOf = <T extends object>(first: T, mine: T): Partial<T> =>
  Object.fromEntries(Object.entries(mine).filter(([name, value]) => !isSame(value, first[name as keyof T]))) as Partial<T>;

/** Return a list as it is now, with what was taken from and added to the one that a form began with. */
export const mergeList = (first: readonly string[], mine: readonly string[], now: readonly string[]): string[] =>
  [...new Set([...now.filter((each) => mine.includes(each) || !first.includes(each)), ...mine.filter((each) => !first.includes(each))])];

/** Return all as it is now with what a form has changed, and whether a field was changed on both sides to different values. */
export function mergeFields<T extends object>(first: T, mine: T, now: T): { merged: T; torn: boolean } {
  const own = changedOf(first, mine);
  const others = changedOf(first, now);
  return { merged: { ...now, ...own }, torn: (Object.keys(own) as (keyof T)[]).some((name) => name in others && !isSame(own[name], others[name])) };
}
