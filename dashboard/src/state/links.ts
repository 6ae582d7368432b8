// The addresses in a text that people wrote: only http and https become links, and the text stays as it is.

const ADDRESS = /https?:\/\/[^\s<>"'`]+/gi;
const ENDING = /[.,;:!?)\]}*_]+$/; // of the sentence, not of the address

/** A part of a text; with `href` an address. */
export interface Part {
  text: string;
  href?: string;
}

/** Return a text in parts, in order, which are the whole text together. */
export function linkParts(text: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const address = found.replace(ENDING, "");
    if (!URL.canParse(address)) continue;
    if (index > at) parts.push({ text: text.slice(at, index) });
    parts.push({ text: address, href: new URL(address).href });
    at = index + address.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at) });
  return parts;
}
