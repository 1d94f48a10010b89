/**
 * Whose request it is, by address: the peer, unless the peer is a proxy the configuration trusts; then the
 * nearest address in X-Forwarded-For that is not itself trusted. What cannot be parsed is never believed, and
 * makes the peer the client.
 */
import ipaddr from 'ipaddr.js';
import { type HeaderList, headerValues } from '../lib/header-list.ts';
import { oncePer } from '../lib/once-per.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type TrustedProxies = readonly [Address, number][];

/** @throws Error where a CIDR is none; `check` has refused it before */
export function parseTrustedProxies(cidrs: readonly string[]): TrustedProxies {
  return cidrs.map((cidr) => {
    const [address, bits] = ipaddr.parseCIDR(cidr);
    return [address, bits];
  });
}

/**
 * @param peer the connection's other end; undefined where it is gone or has no address (a Unix socket)
 * @returns the client's address first, then the trusted proxies between it and us, nearest last; never empty
 */
export function clientAddresses(
  peer: string | undefined,
  headers: HeaderList,
  trusted: TrustedProxies,
): readonly [string, ...string[]] {
  const peerAddress = parse(peer ?? '');
  if (peerAddress === undefined) return ['unknown'];
  const peerText = textOf(peerAddress);
  if (!isTrusted(peerAddress, trusted)) return [peerText];
  const hops: [string, ...string[]] = [peerText];
  const forwarded = headerValues(headers, 'x-forwarded-for').flatMap((value) => value.split(','));
  for (const text of forwarded.reverse()) {
    const address = parse(text.trim());
    if (address === undefined) return [peerText];
    if (!isTrusted(address, trusted)) return [address.toString(), ...hops];
    hops.unshift(address.toString());
  }
  return [peerText];
}

/** An address is the same object each time it is read. */
const textOf = oncePer((address: Address) => address.toString());

/** What was read lately: a connection's peer is the same at each of its requests. Emptied where it grows. */
const read = new Map<string, Address | undefined>();
const MAX_READ = 1_000;
/** The longest address there is, with a scope behind it; what is longer is not kept. */
const MAX_LENGTH = 64;

function parse(text: string): Address | undefined {
  if (text.length > MAX_LENGTH) return parseAnew(text);
  const known = read.get(text);
  if (known !== undefined || read.has(text)) return known;
  if (read.size >= MAX_READ) read.clear();
  const address = parseAnew(text);
  read.set(text, address);
  return address;
}

function parseAnew(text: string): Address | undefined {
  const unscoped = text.split('%', 1)[0] ?? '';
  if (!ipaddr.isValid(unscoped)) return undefined;
  return ipaddr.process(unscoped);
}

function isTrusted(address: Address, trusted: TrustedProxies): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}
