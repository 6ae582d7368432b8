// The pure modules: paths, patterns, words, grants.
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentSnippet } from "../src/state/agent_snippet.ts";
import { fillPath } from "../src/api/paths.ts";
import { curlOf, detailOf, exampleOf, hasWords, operationsOf } from "../src/state/api_reference.ts";
import { eventGroups, eventText, pairAsked, whatOf, whoOf, type Entry } from "../src/state/audit_words.ts";
import { can } from "../src/state/grants.ts";
import { preview } from "../src/state/preview.ts";
import { matchPath } from "../src/state/match.ts";
import { faultsOf, fieldOf, withoutField } from "../src/state/faults.ts";
import { changedOf, mergeFields, mergeList } from "../src/state/meanwhile.ts";
import { linkParts } from "../src/state/links.ts";
import { compareLines, differingMiddle } from "../src/state/lines.ts";
import { cutParts, joinParts, splitRegex } from "../src/state/regex.ts";
import { signInFault } from "../src/state/sign_in_fault.ts";
import { agentsAfter, curveOf, stepsOf, STEPS, takenText, timesOf } from "../src/state/taken.ts";
import { ago, bytes, capital, changesText, countText, daysFromNow, duration, fromLocalInput, inWords, localInput, plural, reveal, splitEnd, splitFound, splitUrl } from "../src/state/words.ts";

test("a path gets its parameters encoded, and only the given part of its query", () => {
  assert.equal(fillPath("/api/namespace/{namespace}", { namespace: "a/b c" }), "/api/namespace/a%2Fb%20c");
  assert.equal(fillPath("/x", {}, { q: "a&b", empty: "", none: undefined, limit: 0 }), "/x?q=a%26b&limit=0");
});

test("a path without one of its parameters is an error", () => {
  assert.throws(() => fillPath("/api/{name}", {}), /needs name/);
});

test("a pattern gives the parts of an address, decoded", () => {
  assert.deepEqual(matchPath("/a/:x/b", "/a/%3Cb%3E/b"), { x: "<b>" });
  assert.deepEqual(matchPath("/a/:x", "/a/1/"), { x: "1" });
  assert.deepEqual(matchPath("/", "/"), {});
});

test("no pattern fits another address, nor one with a stray per cent sign", () => {
  for (const path of ["/a", "/a/", "/a/1/2", "/a/%"]) assert.equal(matchPath("/a/:x", path), null, path);
});

test("times are said in the largest unit that fits", () => {
  const now = new Date("2027-01-31T12:00:00Z");
  assert.equal(ago(new Date("2027-01-31T11:59:30Z"), now), "just now");
  assert.equal(ago(new Date("2027-01-31T09:00:00Z"), now), "3 hours ago");
  assert.equal(ago(new Date("2027-01-30T12:00:00Z"), now), "yesterday");
});

test("a long text keeps its end, and no letter of two code units is cut", () => {
  assert.deepEqual(splitEnd("short"), ["short", ""]);
  assert.deepEqual(splitFound("/Sale", "sale"), ["/", "Sale", "", ""]);
  assert.equal(splitFound("/Sale", "offer"), null);
  assert.equal(splitFound("/Sale", ""), null);
  const long = `/legacy/catalogue/of/the/shop/item-29/${"x".repeat(40)}/end.html`;
  assert.deepEqual(splitFound(long, "ITEM-29"), ["…he/shop/", "item-29", `/${"x".repeat(33)}`, "xxxxxxx/end.html"]);
  const [start, end] = splitEnd("😀".repeat(40));
  assert.equal(start + end, "😀".repeat(40));
  assert.equal([...end].length, 16);
});

test("a long URL keeps its host and the last part of its path", () => {
  assert.deepEqual(splitUrl("https://shop.example/offers/2024/spring/benches-and-tables?utm_source=old#top"), ["https://shop.example", "/offers/2024/spring", "/benches-and-tables", "?utm_source=old#top"]);
  assert.deepEqual(splitUrl("https://garden-furniture.shop.example/benches-and-tables/"), ["https://garden-furniture.shop.example", "", "/benches-and-tables/", ""]);
  assert.deepEqual(splitUrl("/articles/engineering/content/management/systems"), null);
  assert.deepEqual(splitUrl("/articles/engineering/content/management/of/systems"), ["", "/articles/engineering/content/management/of", "/systems", ""]);
  assert.deepEqual(splitUrl("shop.example/articles/engineering/of/all/content"), null);
  assert.deepEqual(splitUrl("www.shop.example/articles/engineering/of/all/content"), ["www.shop.example", "/articles/engineering/of/all", "/content", ""]);
  for (const other of ["/short/path", "https://shop.example/?q=what-is-looked-for", `/articles/${"x".repeat(40)}`, `https://${"x".repeat(40)}/a/b`, "x".repeat(80)]) assert.equal(splitUrl(other), null);
});

test("a count has its noun", () => {
  assert.equal(plural(1, "draft"), "1 draft");
  assert.equal(capital("failing"), "Failing");
  assert.equal(plural(1200, "redirect"), "1,200 redirects");
});

test("a grant covers what it names, and a star covers all", () => {
  const me = { kind: "user" as const, id: 1, name: "ada", grants: [{ namespace: "shop", project: "*", resource: "redirect" as const, action: "write" as const }] };
  assert.ok(can(me, "redirect", "write", "shop", "www"));
  assert.ok(!can(me, "redirect", "write", "other", "www"));
  assert.ok(!can(me, "redirect", "write"));
  assert.ok(!can(null, "redirect", "read", "shop", "www"));
});

test("a preview reads everything and changes nothing, whatever the grants are", () => {
  const me = { kind: "user" as const, id: 1, name: "local", grants: [{ namespace: "*", project: "*", resource: "*" as const, action: "*" as const }] };
  preview.value = { folder: "/rules", namespace: "rules", servedAt: null, projects: [], errors: 0, warnings: 0, problems: [] };
  assert.ok(can(me, "redirect", "read", "rules", "www"));
  for (const resource of ["redirect", "namespace", "user"]) assert.ok(!can(me, resource, "write"), resource);
  preview.value = null;
  assert.ok(can(me, "redirect", "write"));
});

test("a regular expression is split into parts that are the text again, with its groups numbered", () => {
  for (const text of ["^/a/(\\d+)/(?:x|y)?(?P<name>[^/]+)$", "[", "(((", "\\", "a{2,}b*?", "😀(.)", ""]) {
    assert.equal(splitRegex(text).map((each) => each.text).join(""), text);
  }
  const opened = splitRegex("(a)(?:b)(?P<c>c)\\((?i:d)").filter((each) => each.group).map((each) => [each.text, each.group]);
  assert.deepEqual(opened, [["(", 1], ["(?P<c>", 2]]);
});

test("an expression has few parts, and is cut anywhere without losing one", () => {
  const text = "^/a/(\\d+)/(.*)$";
  const parts = joinParts(splitRegex(text));
  assert.deepEqual(parts.map((each) => each.text), ["^", "/a/", "(", "\\d", "+", ")", "/", "(", ".*", ")", "$"]);
  for (let length = 0; length <= text.length; length++) {
    const [start, end] = cutParts(parts, length);
    assert.equal(start.map((each) => each.text).join(""), text.slice(0, length));
    assert.equal(end.map((each) => each.text).join(""), text.slice(length));
    assert.deepEqual([...start, ...end].filter((each) => each.group).map((each) => each.group), [1, 2]);
  }
});

test("problems of the service go to their field, and all others into one text", () => {
  assert.equal(fieldOf("/3/item/target"), "target");
  assert.equal(fieldOf("/changes/0/item/source"), "source");
  assert.equal(fieldOf("/tags/0"), "tags");
  const error = Object.assign(new Error("The redirect is invalid."), {
    problems: [{ code: "x", message: "Too long.", pointer: "/source" }, { code: "y", message: "A loop." }],
  });
  assert.deepEqual(faultsOf(error, ["source"]), { fields: { source: "Too long." }, text: "The redirect is invalid. A loop." });
  assert.equal(faultsOf(error, []).text, "The redirect is invalid. Too long. A loop.");
  assert.deepEqual(withoutField({ fields: { source: "x", target: "y" }, text: "z" }, "source"), { fields: { target: "y" }, text: "z" });
});

test("a size and a day in the future are written as people and the API read them", () => {
  assert.deepEqual([bytes(1), bytes(999), bytes(1500), bytes(2_500_000)], ["1 byte", "999 bytes", "1.5 kB", "2.5 MB"]);
  assert.equal(daysFromNow(30, new Date("2027-01-01T00:00:00.500Z")), "2027-01-31T00:00:00Z");
});

test("counts of changes are words", () => {
  assert.equal(countText("redirect", { added: 1, changed: 2, removed: 0 }), "1 redirect added, 2 changed");
  assert.equal(countText("page", { added: 0, changed: 0, removed: 1200 }), "1,200 pages removed");
  assert.equal(countText("page", { added: 0, changed: 0, removed: 0 }), "");
  const none = { added: 0, changed: 0, removed: 0 };
  const sale = { redirects: { ...none, added: 2 }, pages: none };
  assert.equal(changesText([sale]), "2 redirects added");
  assert.equal(changesText([sale, null, sale]), "4 redirects added");
  assert.equal(changesText([sale, { redirects: none, pages: { ...none, removed: 1 } }]), "3 changes");
  assert.equal(changesText([null, { redirects: none, pages: none }]), "");
});

test("a letter that would not be seen has a name in its place", () => {
  assert.equal(reveal("/a\u202egpj.exe\u202c"), "/a‹U+202E›gpj.exe‹U+202C›");
  assert.equal(reveal("https://shop\u200b.example/\u2066x\ufeff"), "https://shop‹U+200B›.example/‹U+2066›x‹U+FEFF›");
  assert.equal(reveal("pay\u200dpal \u{e0041}"), "pay‹U+200D›pal ‹U+E0041›");
  for (const text of ["/größe?a=1#b", "👩\u200d👧", "می\u200cخواهم", "שלום/a", "e\u0301\n\t"]) assert.equal(reveal(text), text);
});

test("a failed sign-in has words by its code, and nothing of an address is repeated", () => {
  assert.match(signInFault("user_not_exist"), /no account here/);
  for (const code of ["", "x", "constructor", "__proto__", "<b>"]) assert.match(signInFault(code), /^The sign-in failed\. Try again\./);
});

test("a span of time is said in the unit that fits", () => {
  assert.deepEqual([0, 0.0004, 0.038, 1.44, 12.4, 130, 7200, 200_000].map(duration), ["0 s", "1 ms", "38 ms", "1.4 s", "12 s", "2 minutes", "2 hours", "2 days"]);
});

test("the curve of a publish begins at nothing, and goes on to now while agents are missing", () => {
  const publishedAt = "2027-01-31T12:00:00Z";
  const now = Date.parse(publishedAt) + 30_000;
  const taken = [{ seconds: 2, agents: 1 }, { seconds: 5, agents: 2 }];
  const open = curveOf({ agents: 3, current: 2, publishedAt, taken }, now);
  assert.deepEqual(open, { seconds: [0, 2, 5, 30], agents: [0, 1, 2, 2] });
  assert.deepEqual([0, 2, 4.9, 5, 99].map((each) => agentsAfter(open, each)), [0, 1, 1, 2, 2]);
  const done = curveOf({ agents: 2, current: 2, publishedAt, taken }, now);
  assert.deepEqual(done.seconds.at(-1), 6);
  assert.equal(stepsOf(done, 2, 60, 20), "M0 20H20V10H50V0H60V0");
  assert.deepEqual(curveOf({ agents: 0, current: 0, publishedAt, taken: [] }, now), { seconds: [0, 1], agents: [0, 0] });
});

test("the curve has a sentence for who cannot see it", () => {
  const publishedAt = "2027-01-31T12:00:00Z";
  const taken = [{ seconds: 2, agents: 1 }, { seconds: 5, agents: 2 }];
  assert.equal(takenText({ agents: 2, current: 2, publishedAt, taken }), "2 of 2 agents serve it, half of them after 2 s, all after 5 s");
  assert.equal(takenText({ agents: 1, current: 1, publishedAt, taken: taken.slice(0, 1) }), "1 of 1 agent serves it, after 2 s");
  assert.equal(takenText({ agents: 5, current: 2, publishedAt, taken }), "2 of 5 agents serve it");
  assert.equal(takenText({ agents: 0, current: 0, publishedAt, taken: [] }), "No agent is online to take it.");
});

test("a local time goes into a field of the browser and comes back as the API writes it", () => {
  assert.equal(fromLocalInput(localInput("2027-01-31T10:30:00Z")), "2027-01-31T10:30:00Z");
  assert.equal(fromLocalInput(localInput("2027-07-31T10:30:59Z")), "2027-07-31T10:30:59Z");
  assert.deepEqual([localInput(""), localInput("soon"), fromLocalInput(""), fromLocalInput("0202-01-31T10:30")], ["", "", "", ""]);
});

const CONTRACT = {
  paths: {
    "/api/role/{name}": {
      parameters: [{ $ref: "#/components/parameters/name" }],
      get: { summary: "One role", tags: ["Identity"], "x-grant": ["role", "read"], responses: { 200: { description: "The role." } } },
      put: {
        summary: "Change it", "x-grant": [["role", "write"], ["user", "write"]], responses: { 404: { $ref: "#/components/responses/NotFound" } },
        parameters: [{ name: "page size", in: "query", required: true, schema: { type: "integer", minimum: 1, maximum: 9, default: 5 } }],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/role" } } } },
      },
    },
    "/login": { post: { summary: "Sign in", "x-grant": "public" } },
  },
  components: {
    parameters: { name: { name: "name", in: "path", required: true, description: "Its name.", schema: { type: "string", maxLength: 50 } } },
    responses: { NotFound: { description: "There is none." } },
    schemas: {
      role: { type: "object", required: ["grants"], properties: { note: { type: ["string", "null"], "x-must": "be short" }, grants: { type: "array", minItems: 1, items: { $ref: "#/components/schemas/grant" } } } },
      grant: { type: "object", required: ["action", "id"], properties: { action: { description: "What.", enum: ["it's", "write"] }, id: { type: "string", pattern: "^[0-9a-f]{16}$" } } },
    },
  },
} as const;

test("the reference has each call with its parameters, the fields of its body and its grant", () => {
  const [read, write, login] = operationsOf(CONTRACT);
  assert.ok(read && write && login);
  assert.deepEqual([read, write, login].map((each) => `${each.method} ${each.path} ${each.group}`), ["GET /api/role/{name} Identity", "PUT /api/role/{name} Other", "POST /login Other"]);
  assert.ok(hasWords(write, "put Role") && !hasWords(read, "put role"));
  const { parts, grant, responses } = detailOf(CONTRACT, write, "http://w");
  assert.equal(grant, "role:write or user:write");
  assert.deepEqual(responses, [["404", "There is none."]]);
  assert.deepEqual(parts.map((each) => [each.where, each.name, each.type, each.required, each.limits, each.about]), [
    ["path", "name", "string", true, "at most 50 characters", "Its name."],
    ["query", "page size", "integer", true, "1 to 9; by default 5", ""],
    ["body", "note", "string or null", false, "must be short", ""],
    ["body", "grants", "array of object", true, "at least 1 items", ""],
    ["body", "grants[].action", "it's | write", true, "", "What."],
    ["body", "grants[].id", "string", true, "must match ^[0-9a-f]{16}$", ""],
  ]);
  assert.deepEqual([detailOf(CONTRACT, read, "").grant, detailOf(CONTRACT, login, "").grant], ["role:read", "nothing, not even a sign-in"]);
});

test("a call for curl has an example of its body, safe in a shell", () => {
  const [, write, login] = operationsOf(CONTRACT);
  assert.ok(write && login);
  const body = { grants: [{ action: "it's", id: "0123456789abcdef" }] };
  assert.deepEqual(exampleOf(CONTRACT, CONTRACT.components.schemas.role), body);
  assert.equal(curlOf(CONTRACT, write, "http://w"), [
    `curl -X PUT -H "Authorization: Bearer $TOKEN" 'http://w/api/role/{name}?page size={page size}' \\`,
    `  -H 'Content-Type: application/json' --data '{"grants":[{"action":"it'\\''s","id":"0123456789abcdef"}]}'`,
  ].join("\n"));
  assert.equal(curlOf(CONTRACT, login, "http://w"), "curl -X POST 'http://w/login'");
});

const signs = (text: string, other: string): string[] => compareLines(text, other).blocks.flatMap((block) =>
  (typeof block === "number" ? [`… ${block}`] : block.map((line) => `${{ same: " ", old: "-", new: "+" }[line.kind]}${line.text}`)));
const numbered = (lines: number, changes: Record<number, string> = {}): string =>
  Array.from({ length: lines }, (_, index) => `${changes[index + 1] ?? `line ${index + 1}`}\n`).join("");

test("changed lines are shown with three lines around them, and their numbers", () => {
  assert.deepEqual(signs(numbered(100), numbered(100, { 50: "other" })), [
    "… 46", " line 47", " line 48", " line 49", "-line 50", "+other", " line 51", " line 52", " line 53", "… 47",
  ]);
  const [, block] = compareLines(numbered(100), `first\n${numbered(100, { 50: "other" })}`).blocks.filter(Array.isArray);
  const [old, now] = block?.filter((line) => line.kind !== "same") ?? [];
  assert.deepEqual([old?.old, now?.now], [50, 51]);
});

test("two texts differ in as few lines as can be, the old ones before the new ones", () => {
  assert.deepEqual(signs("a\nb\nc\n", "a\nc\nd\n"), [" a", "-b", " c", "+d"]);
  assert.deepEqual(signs("a\nb\n", "c\nd\n"), ["-a", "-b", "+c", "+d"]);
  assert.deepEqual(signs("x\na\nb\ny\n", "y\na\nb\nx\n").filter((line) => !line.startsWith(" ")).length, 4);
  assert.deepEqual(signs("", "a\nb"), ["+a", "+b"]);
  assert.deepEqual(signs("a\nb", ""), ["-a", "-b"]);
  assert.deepEqual(signs("a\n", "a\n"), ["… 1"]);
});

test("the lines of a difference make both texts again", () => {
  const words = ["a", "b", "c", ""];
  let seed = 7;
  const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let round = 0; round < 300; round++) {
    const [old, now] = [0, 1].map(() => Array.from({ length: next(9) }, () => `${words[next(4)]}\n`).join("")) as [string, string];
    const lines = compareLines(old, now).blocks.filter(Array.isArray).flat();
    const left = compareLines(old, now).blocks.some((block) => typeof block === "number");
    if (left) continue;
    for (const [text, kind] of [[old, "old"], [now, "new"]] as const) {
      assert.equal(lines.filter((line) => line.kind === "same" || line.kind === kind).map((line) => `${line.text}\n`).join(""), text, JSON.stringify([old, now]));
    }
  }
});

test("a line break at the end that comes or goes is shown", () => {
  assert.equal(compareLines("a", "a\n").ending, "added");
  assert.equal(compareLines("a\n", "b").ending, "removed");
  assert.equal(compareLines("", "b").ending, "");
});

test("a difference of huge texts is found in bounded steps, and shown in part", () => {
  const [old, now] = ["a", "b"].map((letter) => Array.from({ length: 20_000 }, (_, index) => `${letter}${index}\n`).join("")) as [string, string];
  const { blocks, more } = compareLines(old, now);
  assert.deepEqual([blocks.length, (blocks[0] as unknown[]).length, more], [1, 400, 39_600]);
});

test("the middle of two short texts that differs is found in whole letters", () => {
  assert.deepEqual(differingMiddle("/a/old/x", "/a/new/x"), ["/a/", "old", "new", "/x"]);
  assert.deepEqual(differingMiddle("/a", "/a/b"), ["/a", "", "/b", ""]);
  assert.deepEqual(differingMiddle("aa", "a"), ["a", "a", "", ""]);
  assert.deepEqual(differingMiddle("😀", "😁"), ["", "😀", "😁", ""]);
});

test("messages name the types as the forms do, and leave what they quote", () => {
  assert.equal(inWords('a BASIC source begins with "/"; with a host it is BASIC_HOST'), 'a “Basic” source begins with "/"; with a host it is “Basic, with host”');
  assert.equal(inWords("with a host it is BASIC_HOST", true), "with a host it is “Basic, with host” (BASIC_HOST)");
  assert.equal(inWords('"/BASIC" and "REGEX" and /a/BASIC/b, of REGEX_HOST.'), '"/BASIC" and "REGEX" and /a/BASIC/b, of “Regex, with host”.');
});

test("the lines for an agent quote what a shell would read", () => {
  const lines = agentSnippet("http://127.0.0.1/it's", "wp_x", "edge-1");
  assert.ok(lines.startsWith("P='http://127.0.0.1/it'\\''s'\nTOKEN='wp_x'\n"));
  assert.ok(lines.endsWith(`-d '{"name":"edge-1","type":"default","version":"'"$VERSION"'","status":"success"}'`));
});

test("a form sends what was changed in it, over what others have changed meanwhile", () => {
  const first = { title: "a", grants: ["x", "y"], poll: 60 };
  assert.deepEqual(changedOf(first, { ...first, grants: ["x"] }), { grants: ["x"] });
  const now = { ...first, grants: ["x"] };
  assert.deepEqual(mergeFields(first, { ...first, poll: 30 }, now), { merged: { title: "a", grants: ["x"], poll: 30 }, torn: false });
  assert.deepEqual(mergeFields(first, { ...first, grants: ["y"] }, now), { merged: { ...first, grants: ["y"] }, torn: true });
  assert.equal(mergeFields(first, { ...first, grants: ["x"] }, now).torn, false);
});

test("what someone took from a list is not given back by who adds to it", () => {
  assert.deepEqual(mergeList(["admin", "viewer"], ["admin", "viewer", "publisher"], ["viewer", "auditor"]), ["viewer", "auditor", "publisher"]);
  assert.deepEqual(mergeList(["admin", "viewer"], ["admin"], ["admin", "viewer"]), ["admin"]);
});

test("an entry of the audit log is a sentence, and what it names is marked", () => {
  const entry: Entry = {
    id: 1, at: "2027-01-31T12:00:00Z", event: "draft_approved", actor: { kind: "user", id: 1, name: "ada" }, subject: "proposal/0a", namespace: "acme", project: "shop",
    address: null, detail: {}, session: null, request: null, token: null, count: 1, hash: "",
  };
  const said = (changes: object): string => [...whoOf({ ...entry, ...changes }), [" "] as const, ...whatOf({ ...entry, ...changes })].map(([text]) => text).join("");
  assert.equal(said({}), "ada approved the proposal 0a of acme / shop");
  assert.equal(said({ subject: "main", token: { id: 1, name: "ci" } }), "ada, by the token ci, approved the draft of acme / shop");
  assert.equal(said({ event: "authn_login_success", detail: { by: "password" } }), "ada signed in with a password");
  assert.equal(said({ event: "authz_fail", actor: { kind: "anonymous", id: null, name: "" }, detail: { method: "PUT", route: "/api/role/{name}" } }), "Someone who is not signed in was refused: PUT /api/role/{name}");
  assert.equal(said({ event: "privilege_permissions_changed", actor: { kind: "operator", id: null, name: "root" }, subject: "bo", detail: { roles: [] } }), "root, on the command line, changed the roles of bo to none");
  assert.equal(said({ event: "release_published", subject: "shop", detail: { publishNumber: 7 } }), "ada published acme / shop, as publish 7");
  assert.match(said({ event: "of_a_newer_service" }), /of_a_newer_service/);
  assert.deepEqual(whatOf({ ...entry, event: "role_created", subject: "{place}" }), [["created the role ", false], ["{place}", true]]);
  assert.equal(said({ event: "release_published", actor: { kind: "commit", id: null, name: "Ben Short <user-3@waypost.invalid>" }, detail: { publishNumber: 7 } }), "Ben Short published acme / shop, as publish 7");
  const [done, asked, other] = ["release_published", "publish_requested", "publish_requested"].map((event, id) => ({ ...entry, id, event, detail: { version: id < 2 ? "v1" : "v2" } })) as [Entry, Entry, Entry];
  assert.deepEqual(pairAsked([done, asked, other]), [{ entry: done, asked }, { entry: other, asked: null }]);
  assert.equal(pairAsked([done, { ...asked, project: "docs" }]).length, 2);
  assert.ok(eventGroups().every(([, events]) => events.length > 0));
  assert.equal(eventText("approval_overridden"), "published … without the approval that it needs …");
});

test("addresses in a text become links, and nothing else does", () => {
  const text = "See https://shop.example/a?b=1#c. Not javascript:alert(1), ftp://x or https://";
  const parts = linkParts(text);
  assert.deepEqual(parts.filter((each) => each.href), [{ text: "https://shop.example/a?b=1#c", href: "https://shop.example/a?b=1#c" }]);
  assert.equal(parts.map((each) => each.text).join(""), text);
  assert.deepEqual(linkParts("(http://a.example)").map((each) => each.href ?? each.text), ["(", "http://a.example/", ")"]);
  assert.deepEqual(linkParts(""), []);
});

test("the times of an axis are in one unit, with even steps", () => {
  assert.deepEqual(timesOf([0, 30, 60, 90]), ["0 s", "30 s", "60 s", "90 s"]);
  assert.deepEqual(timesOf([0, 60, 120, 180]), ["0 min", "1 min", "2 min", "3 min"]);
  assert.deepEqual(timesOf([0, 0.5, 1]), ["0 s", "0.5 s", "1 s"]);
  assert.deepEqual(timesOf([0, 7200]), ["0 h", "2 h"]);
  for (const step of STEPS) assert.ok(new Set(timesOf([0, step, 2 * step, 3 * step])).size === 4);
});
