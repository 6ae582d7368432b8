// The chart of the agents taking a publish, drawn by uPlot: a chunk of its own.
import uPlot from "uplot";
import { theme } from "../state/commands.ts";
import { agentsAfter, curveOf, STEPS, timesOf, type Taking } from "../state/taken.ts";
import { count, duration, plural } from "../state/words.ts";

const HEIGHT = 176;

/** Return the colour of a token in the theme that is shown. */
function colour(box: HTMLElement, token: string): string {
  box.style.color = `var(${token})`;
  const found = getComputedStyle(box).color;
  box.style.color = "";
  return found;
}

const pixels = (box: HTMLElement, token: string): string => `${13 * devicePixelRatio}px ${getComputedStyle(box).getPropertyValue(token)}`;

/** Draw into a box; `say` gets what is under the pointer, and "" without one. */
export function showChart(box: HTMLElement, first: Taking, say: (text: string) => void): { update: (taking: Taking) => void; end: () => void } {
  let taking = first;
  let curve = curveOf(first);
  const axis = (more: uPlot.Axis): uPlot.Axis => ({
    stroke: () => colour(box, "--quiet"),
    font: pixels(box, "--sans"),
    grid: { stroke: () => colour(box, "--line"), width: 1 },
    ticks: { show: false },
    ...more,
  });
  const point = (plot: uPlot): void => {
    const { left } = plot.cursor;
    if (left === undefined || left < 0) {
      say("");
      return;
    }
    const at = Math.max(0, plot.posToVal(left, "x"));
    say(`After ${duration(at)}: ${agentsAfter(curve, at)} of ${plural(taking.agents, "agent")}`);
  };
  const options: uPlot.Options = {
    width: Math.max(160, box.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: false, range: (_plot, _low, high) => [0, high] }, y: { range: () => [0, Math.max(1, taking.agents)] } },
    axes: [
      axis({ incrs: STEPS, values: (_plot, values) => timesOf(values), size: 32, space: 72 }),
      axis({ splits: () => (taking.agents % 2 ? [0, taking.agents] : [0, taking.agents / 2, Math.max(1, taking.agents)]), values: (_plot, values) => values.map((each) => count(each)), size: 48 }),
    ],
    series: [
      {},
      {
        stroke: () => colour(box, "--accent"),
        fill: () => colour(box, "--accent-soft"),
        width: 2,
        points: { show: false },
        paths: uPlot.paths.stepped?.({ align: 1 }) as uPlot.Series.PathBuilder,
      },
    ],
    hooks: { setCursor: [point] },
  };
  const plot = new uPlot(options, [curve.seconds, curve.agents], box);
  const redraw = (): void => plot.redraw(false, true);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  const endTheme = theme.subscribe(redraw);
  const sizes = new ResizeObserver(() => plot.setSize({ width: Math.max(160, box.clientWidth), height: HEIGHT }));
  sizes.observe(box);
  return {
    update: (next) => {
      taking = next;
      curve = curveOf(next);
      plot.setData([curve.seconds, curve.agents]);
    },
    end: () => {
      dark.removeEventListener("change", redraw);
      endTheme();
      sizes.disconnect();
      plot.destroy();
    },
  };
}
