// Charts of the agents taking a publish. The small one is a line; the large one comes with its library when it is shown.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { may, viewPath, type Of } from "../state/project.ts";
import { curveOf, stepsOf, takenText, type Taking } from "../state/taken.ts";

const WIDTH = 96;
const HEIGHT = 24;

/** The curve in the height of a line of text. */
export function Spark({ taking }: { taking: Taking }): JSX.Element {
  const line = stepsOf(curveOf(taking), taking.agents, WIDTH, HEIGHT);
  return (
    <svg class="spark" viewBox={`-1 -1 ${WIDTH + 2} ${HEIGHT + 2}`} width={WIDTH} height={HEIGHT} role="img" aria-label={takenText(taking)}>
      <path class="spark-all" d={`M0 0H${WIDTH}`} />
      <path class="spark-area" d={`${line}V${HEIGHT}H0Z`} />
      <path class="spark-line" d={line} />
    </svg>
  );
}

type Show = typeof import("../charts/taken_chart.ts").showChart;
type Shown = ReturnType<Show>;

/** That there has never been an agent, and what leads to one. */
export const NoAgent = ({ of }: { of: Of }): JSX.Element =>
  <span class="quiet">No agent yet.{may(of, "token", "write") && <> <a href={viewPath(of, "agents", { connect: "1" })}>Connect one</a></>}</span>;

/** The curve with its axes; `bare`: where its numbers are said beside it. */
export function TakenChart({ taking, bare = false }: { taking: Taking; bare?: boolean }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const shown = useRef<Shown | null>(null);
  const [said, setSaid] = useState("");
  const latest = useRef(taking);
  latest.current = taking;
  useEffect(() => {
    let left = false;
    import("../charts/taken_chart.ts").then(({ showChart }) => {
      if (!left && box.current) shown.current = showChart(box.current, latest.current, setSaid);
    }, () => setSaid("The chart cannot be loaded."));
    return () => {
      left = true;
      shown.current?.end();
    };
  }, []);
  useEffect(() => shown.current?.update(taking), [JSON.stringify(taking)]);
  return (
    <figure class="taken">
      <div class="taken-box" ref={box} role="img" aria-label={`Chart: ${takenText(taking)}.`} />
      <figcaption>{said || (!bare && takenText(taking))}</figcaption>
    </figure>
  );
}
