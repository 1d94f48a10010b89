/**
 * The key by which a source address is counted. An IPv4 address is one source; of an IPv6 address the first
 * 64 bits are, since a client with one address of a subnet has them all (RFC 4291 §2.5.4, RFC 6177). An IPv4
 * address written as IPv6 (RFC 4291 §2.5.5.2) counts as the IPv4 address.
 */
import { isIPv6 } from 'node:net';

const GROUPS = 8;

/** @param address of the client; any text that is no IPv6 address is its own key */
export function sourceKey(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  const groups = groupsOf(plain);
  const [a = 0, b = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [a >> 8, a & 0xff, b >> 8, b & 0xff].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups as numbers, with what `::` stands for. */
function groupsOf(address: string): number[] {
  const [left = '', right = ''] = address.replace(/\d+\.\d+\.\d+\.\d+$/, dottedAsGroups).split('::');
  const head = parseGroups(left);
  const tail = parseGroups(right);
  return [...head, ...new Array<number>(GROUPS - head.length - tail.length).fill(0), ...tail];
}

function parseGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function dottedAsGroups(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
