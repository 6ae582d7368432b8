// The projects that a person has last visited in this browser, until they sign out here.
import { me } from "../api/session.ts";

export interface Visit {
  namespace: string;
  name: string;
  title?: string;
}

const MOST = 6; // the shown one is often among them

const keyOf = (person: number | undefined): string => `waypost-visited ${person ?? ""}`;
const isOf = (namespace: string, name: string) => (each: Visit): boolean => each.namespace === namespace && each.name === name;

/** Return the projects, the last one first. */
export function visited(): readonly Visit[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(me.peek()?.id)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each: Partial<Visit> | null): each is Visit => Boolean(each?.namespace && each.name)) : [];
  } catch {
    return []; // not what was written here
  }
}

/** Note a visit; or that there is nothing to visit, where it has no title. */
export function noteVisit(namespace: string, name: string, title: string | null): void {
  const others = visited().filter((each) => !isOf(namespace, name)(each));
  try {
    localStorage.setItem(keyOf(me.peek()?.id), JSON.stringify(title === null ? others : [{ namespace, name, title }, ...others].slice(0, MOST)));
  } catch {
    // A browser that is full, or keeps nothing: the palette lists other projects.
  }
}

/** Forget where a person was. */
export const forgetVisits = (person: number | undefined): void => localStorage.removeItem(keyOf(person));
