// Paths of the contract with their parameters filled in.

/** Return a path with its braces and query filled in; parameters that are undefined or empty are left out. */
export function fillPath(template: string, path: Record<string, string> = {}, query: Record<string, unknown> = {}): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name];
    if (value === undefined) throw new Error(`${template} needs ${name}`);
    return encodeURIComponent(value);
  });
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === "string" ? value !== "" : typeof value === "number" || typeof value === "boolean") {
      found.set(name, String(value));
    }
  }
  const text = found.toString();
  return text ? `${filled}?${text}` : filled;
}

const OF_DRAFT = /\/project\/\{project\}\/(?:draft(?:\/.*)?|test|lint|diff|import|export|publish)$/;

/** Return the query of a call with the draft that its path is about, where the call takes one. */
export function withDraft(template: string, path: Record<string, string> = {}, query: Record<string, unknown> = {}): Record<string, unknown> {
  return path["draft"] && OF_DRAFT.test(template) ? { draft: path["draft"], ...query } : query;
}
