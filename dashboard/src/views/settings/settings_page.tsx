// The frame of the settings: their tabs.
import type { ComponentChildren, JSX } from "preact";
import { Tabs } from "../../components/basics.tsx";
import { place } from "../../state/router.ts";
import { settingsTabs } from "../../state/settings_tabs.ts";

export function SettingsPage({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <main class="page">
      <header class="heading"><p class="crumbs"><a href="/">Overview</a> <span aria-hidden="true">/</span> Settings</p><h1>{title}</h1></header>
      <Tabs label="Settings" items={settingsTabs().map((each) => ({ ...each, current: place.value.path === each.href }))} />
      {children}
    </main>
  );
}
