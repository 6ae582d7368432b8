// The command palette and the list of keyboard shortcuts.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { commands, open, type Command } from "../state/commands.ts";
import { Dialog } from "./dialog.tsx";

const close = (): void => void (open.value = "");

export function Palette(): JSX.Element | null {
  if (open.value === "palette") return <Chooser />;
  return open.value === "shortcuts" ? <Shortcuts /> : null;
}

function Chooser(): JSX.Element {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const words = text.toLowerCase().split(/\s+/);
  const found = commands().filter((each) => words.every((word) => each.name.toLowerCase().includes(word)));
  const run = (command: Command | undefined): void => {
    if (!command) return;
    close();
    command.run();
  };
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((before) => (before + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Commands" onClose={close} class="palette">
      <input type="text" role="combobox" aria-expanded="true" aria-controls="commands" aria-label="Find a command"
        aria-activedescendant={found.length ? `command-${chosen}` : undefined} placeholder="Find a command" autofocus value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }} onKeyDown={move} />
      <ul id="commands" role="listbox" aria-label="Commands">
        {found.map((each, index) => (
          <li key={each.name} id={`command-${index}`} role="option" aria-selected={index === chosen} onClick={() => run(each)}>
            <span>{each.name}</span>{each.keys && <kbd>{each.keys}</kbd>}
          </li>
        ))}
      </ul>
      {!found.length && <p class="quiet">No command has these words.</p>}
    </Dialog>
  );
}

function Shortcuts(): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <dl class="shortcuts">
        {commands().filter((each) => each.keys).map((each) => <div key={each.name}><dt><kbd>{each.keys}</kbd></dt><dd>{each.name}</dd></div>)}
      </dl>
    </Dialog>
  );
}
