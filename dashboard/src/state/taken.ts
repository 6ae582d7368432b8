// How the agents took the last publish: the curve as the charts draw it, and in words.
import { count, duration, plural } from "./words.ts";

export interface Taking {
  /** The agents that are online, and those of them that have the publish. */
  agents: number;
  current: number;
  publishedAt: string;
  taken: readonly { seconds: number; agents: number }[];
}

export interface Curve {
  /** Seconds since the publish, from 0 to the end of the chart. */
  seconds: number[];
  /** The agents that had it by then. */
  agents: number[];
}

const FRESH = 600; // seconds in which a chart goes on to now; later, it ends soon after the last agent

/** Return the points of a chart, from the publish to its end. */
export function curveOf({ agents, current, publishedAt, taken }: Taking, now = Date.now()): Curve {
  const last = taken.at(-1);
  const age = Math.max(0, (now - Date.parse(publishedAt)) / 1000);
  const begin = last ? last.seconds * 1.2 : 0;
  const end = Math.max(1, begin, current < agents && age < FRESH ? age : 0);
  return {
    seconds: [0, ...taken.map((each) => each.seconds), end],
    agents: [0, ...taken.map((each) => each.agents), Math.max(last?.agents ?? 0, current)],
  };
}

/** Return the curve in a sentence, for who cannot see a chart. */
export function takenText({ agents, current, taken }: Taking): string {
  if (agents === 0) return "No agent is online to take it.";
  const half = taken.find((each) => each.agents * 2 >= agents);
  const all = current === agents ? taken.at(-1) : undefined;
  const after = (seconds: number): string => (seconds < 1 ? "at once" : `after ${duration(seconds)}`);
  const times = [half && agents > 1 ? `half of them ${after(half.seconds)}` : "", all ? `${agents > 1 ? "all " : ""}${after(all.seconds)}` : ""].filter(Boolean);
  return [`${count(current)} of ${plural(agents, "agent")} ${agents === 1 ? "serves" : "serve"} it`, ...times].join(", ");
}

/** Return how many agents had it after some seconds. */
export function agentsAfter(curve: Curve, seconds: number): number {
  const after = curve.seconds.findIndex((each) => each > seconds);
  return curve.agents[after < 0 ? curve.agents.length - 1 : Math.max(0, after - 1)] ?? 0;
}

/** Return the line of a small chart as steps in a box; the whole height is all agents. */
export function stepsOf({ seconds, agents }: Curve, all: number, width: number, height: number): string {
  const end = seconds.at(-1) ?? 1;
  const round = (value: number): string => String(Math.round(value * 100) / 100);
  const points = seconds.map((each, index) => [round((each / end) * width), round(height - ((agents[index] ?? 0) / Math.max(1, all)) * height)] as const);
  return points.map(([x, y], index) => (index === 0 ? `M${x} ${y}` : `H${x}V${y}`)).join("");
}

const UNITS = [[1, "s"], [60, "min"], [3600, "h"], [86_400, "d"]] as const;

/** The steps between two times of an axis, in seconds: even ones in each unit. */
export const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((each) => each * 60),
  ...[1, 2, 3, 6, 12].map((each) => each * 3600), ...[1, 2, 5, 10, 20, 50, 100].map((each) => each * 86_400)];

/** Return the times of an axis, in seconds, in the one unit that fits the step between them. */
export function timesOf(values: readonly number[]): string[] {
  const step = (values[1] ?? 1) - (values[0] ?? 0);
  const [size, unit] = UNITS.filter(([each]) => step >= each).at(-1) ?? UNITS[0];
  return values.map((each) => `${Math.round((each / size) * 1000) / 1000} ${unit}`);
}
