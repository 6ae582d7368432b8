// The settings of one project, and its end.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, patch, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Button, Failure, Field } from "../../components/basics.tsx";
import { Choice, FormDialog, Refusal, TextArea, useCall } from "../../components/form.tsx";
import { toast } from "../../components/toast.tsx";
import { tellChanged } from "../../state/changes.ts";
import { useLoad } from "../../state/load.ts";
import { may, P, type Of } from "../../state/project.ts";
import { ask } from "../../state/router.ts";

type Project = components["schemas"]["project-state.schema"];
type Update = components["schemas"]["project-update.schema"];

export const REVIEWS = [["optional", "optional"], ["required", "required before a publish"]] as const;

const NAMES = ["title", "description", "review", "lint", "signatures"] as const;

const back = (): void => ask({ project: "" });

export function ProjectSettings(of: Of): JSX.Element {
  const { namespace, project } = of;
  const found = useLoad(`${namespace}/${project}`, (signal) => get(P, { path: { namespace, project }, signal }));
  if (found.data) return <Form of={{ namespace, project }} before={found.data} />;
  return <FormDialog title={`Project ${project}`} dirty={false} onClose={back} class="wide">{found.error ? <Failure error={found.error} retry={found.reload} /> : <p class="quiet">…</p>}</FormDialog>;
}

/** Whether a policy ends with the project, which takes more than its removal. */
const hasPolicy = ({ review, lint, signatures }: Project): boolean => review === "required" || lint === "strict" || signatures === "required";

function Form({ of, before }: { of: Of; before: Project }): JSX.Element {
  const { namespace, project } = of;
  const first = { title: before.title ?? "", description: before.description, review: before.review, lint: before.lint ?? "normal", signatures: before.signatures ?? "optional" };
  const [values, setValues] = useState<Record<keyof typeof first, string>>(first);
  const [confirmed, setConfirmed] = useState("");
  const call = useCall(NAMES);
  const { fields } = call.faults;
  const set = (changes: Partial<typeof values>): void => setValues({ ...values, ...changes });
  const changed = NAMES.filter((name) => values[name] !== first[name]);
  const finish = (text: string): void => {
    tellChanged();
    toast(text);
    back();
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      await patch(P, { path: of, body: Object.fromEntries(changed.map((name) => [name, values[name] || null])) as Update });
      finish(`The settings of ${project} are published.`);
    });
  };
  const drop = (): void => call.run(async () => {
    await remove(P, { path: of, query: { confirm: project } });
    finish(`The project ${project} is removed.`);
  });
  return (
    <FormDialog title={`Project ${project} of ${namespace}`} dirty={changed.length > 0} onClose={back} class="wide">
      <form class="form" onSubmit={submit}><Refusal text={call.faults.text} />
        <Field label="Title" name="title" value={values.title} onInput={(title) => set({ title })} problem={fields["title"]} help="Empty: its name." />
        <TextArea label="Description" value={values.description} onInput={(description) => set({ description })} problem={fields["description"]} />
        <div class="two"><Choice label="Review" value={values.review} options={REVIEWS} onChange={(review) => set({ review })} problem={fields["review"]} />
          <Choice label="Warnings" value={values.lint} options={[["normal", "are shown"], ["strict", "stop a publish"]]} onChange={(lint) => set({ lint })} problem={fields["lint"]} />
          <Choice label="Signatures of pushes" value={values.signatures} options={[["optional", "optional"], ["required", "required"]]} onChange={(signatures) => set({ signatures })} problem={fields["signatures"]} /></div>
        <p class="help">A change is published at once, with a commit of its own.</p>
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || changed.length === 0}>Save the settings</Button></p></form>
      {may(of, "project", "publish") && (may(of, "project", "override") || !hasPolicy(before)) && <div class="form ending">
        <Field label={`To remove the project, write its name: ${project}`} name="confirm" value={confirmed} onInput={setConfirmed} help="Agents get nothing of it any more. Its history stays in the repository." />
        <p class="actions"><Button kind="danger" disabled={call.busy || confirmed !== project} onClick={drop}>Remove the project</Button></p></div>}
    </FormDialog>
  );
}
