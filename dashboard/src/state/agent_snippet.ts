// What an agent does, as lines for a shell: it reads the published version, fetches its lists, and reports what it has.

/** Quote a text for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Return the lines that fetch the rules and pages of a project by a token, and report as the agent `name`; `url` is that of the project. */
export function agentSnippet(url: string, token: string, name: string): string {
  const [before = "", after = ""] = JSON.stringify({ name, type: "default", version: "VERSION", status: "success" }).split("VERSION");
  return [
    `P=${quote(url)}`,
    `TOKEN=${quote(token)}`,
    'VERSION=$(curl -fsS -H "Authorization: Bearer $TOKEN" "$P/version" | tr -d \'"\')',
    'curl -fsS -H "Authorization: Bearer $TOKEN" "$P/redirects?limit=1000000000&version=$VERSION" -o redirects.json',
    'curl -fsS -H "Authorization: Bearer $TOKEN" "$P/pages?limit=1000000000&version=$VERSION" -o pages.json',
    "curl -fsS -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \"$P/agents\" \\",
    `  -d ${quote(before)}"$VERSION"${quote(after)}`,
  ].join("\n");
}
